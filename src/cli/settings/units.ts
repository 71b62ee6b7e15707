import { usageError } from '../../client/errors.ts';
import { isDay } from '../../contract/asset-filters.ts';

const durationMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Converts a duration such as `90s`, `1h30m` or `500ms` to milliseconds. A bare number is in seconds. */
export function parseDuration(name: string, text: string): number {
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000;
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== text)
    throw usageError(`${name} does not accept '${text}'`, 'use a duration such as 90s, 30m or 1h30m');
  return parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * durationMs[unit as keyof typeof durationMs], 0);
}

const powers: Record<string, number> = { '': 0, k: 1, m: 2, g: 3, t: 4 };

/** Converts a size to bytes. `8MiB` and `8M` use powers of 1024, `500kB` powers of 1000. A bare number is bytes. */
export function parseSize(name: string, text: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)(b?)$/i.exec(text);
  const power = powers[match?.[2]?.toLowerCase() ?? '?'];
  if (!match || power === undefined)
    throw usageError(`${name} does not accept '${text}'`, 'use a size such as 8MiB, 500k or 1048576');
  const decimal = match[4] !== '' && match[3] === '';
  return Math.floor(Number(match[1]) * (decimal ? 1000 : 1024) ** power);
}

export function parseCount(name: string, text: string, min = 0): number {
  const count = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(count) || count < min)
    throw usageError(`${name} does not accept '${text}'`, `use a whole number of at least ${min}`);
  return count;
}

const dayMs = 86_400_000;

/** Converts `YYYY-MM-DD`, `today`, `yesterday` or an age (`36h`, `7d`, `2w`) to a UTC date, YYYY-MM-DD. */
export function parseDay(name: string, text: string, now: number): string {
  const hint = 'use YYYY-MM-DD, today, yesterday, or an age such as 36h, 7d or 2w';
  if (isDay(text)) return text;
  if (/^\d{4}-\d{2}-\d{2}$/.test(text)) throw usageError(`${name}: ${text} is not a valid date`, hint);
  const named = ['today', 'yesterday'].indexOf(text);
  const age = /^(\d{1,5}) ?([hdw]|(?:hour|day|week)s? ago)$/.exec(text);
  const unitMs = { h: dayMs / 24, d: dayMs, w: 7 * dayMs }[age?.[2]?.[0] ?? 'd'] ?? dayMs;
  if (named < 0 && !age) throw usageError(`${name} does not accept '${text}'`, hint, 'the API filters by day only');
  const agoMs = named >= 0 ? named * dayMs : Number(age?.[1]) * unitMs;
  return new Date(now - agoMs).toISOString().slice(0, 10);
}

/**
 * Converts a point in the future to milliseconds since the Unix epoch. Accepts a time of day such as `06:00` (local
 * time), a timestamp such as `2026-03-01T06:00Z`, or a duration from now such as `8h`.
 */
export function parseMoment(name: string, text: string, now: number): number {
  const time = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(text);
  if (time) {
    const next = new Date(now);
    next.setHours(Number(time[1]), Number(time[2]), 0, 0);
    if (next.getTime() <= now) next.setDate(next.getDate() + 1);
    return next.getTime();
  }
  const hint = 'use a time such as 06:00, a timestamp such as 2026-03-01T06:00Z, or a duration such as 8h';
  if (/^\d{4}-\d{2}-\d{2}T/.test(text)) {
    const moment = Date.parse(text);
    if (Number.isNaN(moment)) throw usageError(`${name} does not accept '${text}'`, hint);
    if (moment <= now) throw usageError(`${name}: ${text} is in the past`, hint);
    return moment;
  }
  if (!/^\d+(?:\.\d+)?(?:ms|s|m|h|d)/.test(text)) throw usageError(`${name} does not accept '${text}'`, hint);
  return now + parseDuration(name, text);
}
