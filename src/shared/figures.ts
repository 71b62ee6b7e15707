/** Formats a whole number with thousands separators, such as `12,480`. `toLocaleString` would first take 18 ms. */
export const formatCount = (count: number) => String(count).replace(/\B(?=(?:\d{3})+$)/g, ',');

/** Formats a count with its noun, such as `1 asset` or `1,200 assets`. */
export const pluralize = (count: number, noun: string) => `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;

export const capitalize = (text: string) => `${text[0]?.toUpperCase()}${text.slice(1)}`;

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/** Formats a size in bytes with a binary unit, such as `8.0 MiB`. */
export function formatBytes(count: number): string {
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, count)) / 10));
  return `${(count / 1024 ** power).toFixed(power === 0 ? 0 : 1)} ${units[power]}`;
}

/** Formats a duration in seconds as `4s`, `3:07` or `1:02:09`. */
export function formatDuration(seconds: number): string {
  const wholeSeconds = Math.max(0, Math.round(seconds));
  return wholeSeconds < 60 ? `${wholeSeconds}s` : formatClockTime(wholeSeconds);
}

/** Formats seconds as media players do, such as `1:02:03` or `2:03`. */
export function formatClockTime(seconds: number): string {
  const wholeSeconds = Math.max(0, Math.floor(seconds));
  const two = (n: number) => String(n).padStart(2, '0');
  const [h, m, s] = [Math.floor(wholeSeconds / 3600), Math.floor(wholeSeconds / 60) % 60, wholeSeconds % 60];
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
}

/** Formats a time (milliseconds since the epoch) as `14:07` in the local time zone. */
export const formatTimeOfDay = (time: number) =>
  new Date(time).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });

/** Formats a wait until a time (milliseconds since the epoch), as in `waiting 50:00, until 14:07`. */
export const formatWait = (until: number, now: number) =>
  `waiting ${formatDuration(Math.ceil((until - now) / 1000))}, until ${formatTimeOfDay(until)}`;

/** @param kept requests that remain, but that bulk work leaves to other commands */
export const describeRateLimit = (kept?: { left: number; limit: number }): string =>
  kept
    ? `rate limit reached: ${kept.left} of ${kept.limit} requests are kept in reserve for other commands`
    : 'rate limit reached';

/** Describes which workspaces a list has, if that is not only the one in use. */
export function describeScope({ isAll, leftOut }: { isAll: boolean; leftOut: number }): string | undefined {
  if (isAll) return 'all workspaces';
  return leftOut > 0 ? describeLeftOut(leftOut) : undefined;
}

/** Says how many assets a list leaves out. */
export const describeLeftOut = (count: number) => `${pluralize(count, 'asset')} of other workspaces left out`;
