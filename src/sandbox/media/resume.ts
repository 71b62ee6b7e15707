/** Who is this near the end has seen it: the last twentieth, or the last half minute. */
const endShare = 0.05;
const endSeconds = 30;

/** Where playback goes on (seconds) for who left at `position`; null begins anew. */
export function resumeFrom(position: number, duration: number | null): number | null {
  if (position === 0) return null;
  const left = (duration ?? Number.POSITIVE_INFINITY) - position;
  return left <= Math.min(endSeconds, (duration ?? 0) * endShare) ? null : position;
}
