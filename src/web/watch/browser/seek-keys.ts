const stepSeconds = 5;
/** Step of PageUp and PageDown, as a fraction of the duration. */
const pageFraction = 0.1;

/** Returns the time in seconds to seek to when a slider key is pressed; undefined for other keys. */
export function seekTargetOf(key: string, now: number, duration: number): number | undefined {
  const page = duration * pageFraction;
  const targets: Record<string, number> = {
    ...{ ArrowLeft: now - stepSeconds, ArrowDown: now - stepSeconds },
    ...{ ArrowRight: now + stepSeconds, ArrowUp: now + stepSeconds },
    ...{ PageDown: now - page, PageUp: now + page },
    ...{ Home: 0, End: duration },
  };
  return targets[key];
}
