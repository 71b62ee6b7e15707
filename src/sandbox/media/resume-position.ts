/** Playback counts as finished in the last 5 % or 30 s, whichever is shorter. */
const endFraction = 0.05;
const maxEndSeconds = 30;

/**
 * Returns the position in seconds from which playback resumes after it stopped at `position`; null to restart from
 * the beginning.
 */
export function computeResumePosition(position: number, duration: number | null): number | null {
  if (position === 0) return null;
  const left = (duration ?? Number.POSITIVE_INFINITY) - position;
  return left <= Math.min(maxEndSeconds, (duration ?? 0) * endFraction) ? null : position;
}
