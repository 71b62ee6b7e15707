const stepSeconds = 5;
/** Of the whole. */
const pageFraction = 0.1;

/** Where a key of a slider leads from `now`, in seconds; undefined for any other key. */
export function keyLeadsTo(key: string, now: number, duration: number): number | undefined {
  const page = duration * pageFraction;
  const targets: Record<string, number> = {
    ...{ ArrowLeft: now - stepSeconds, ArrowDown: now - stepSeconds },
    ...{ ArrowRight: now + stepSeconds, ArrowUp: now + stepSeconds },
    ...{ PageDown: now - page, PageUp: now + page },
    ...{ Home: 0, End: duration },
  };
  return targets[key];
}
