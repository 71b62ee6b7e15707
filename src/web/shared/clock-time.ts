/** Formats seconds as media players do, such as `1:02:03` or `2:03`. */
export function formatClockTime(seconds: number): string {
  const wholeSeconds = Math.max(0, Math.floor(seconds));
  const [hours, minutes] = [Math.floor(wholeSeconds / 3600), Math.floor(wholeSeconds / 60) % 60];
  const two = (count: number) => String(count).padStart(2, '0');
  return `${hours > 0 ? `${hours}:${two(minutes)}` : minutes}:${two(wholeSeconds % 60)}`;
}
