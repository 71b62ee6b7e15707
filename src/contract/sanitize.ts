import { textIn, timeIn, toJson } from './reading.ts';

/**
 * Control characters of every kind that can drive a terminal or reorder its text: C0, DEL, C1, and
 * Unicode's line and direction controls.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const controls = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** The service's strings as one line that is safe to show: `\n`, `\t`, `\u001b` are spelled out. */
export function printable(text: string): string {
  return text.replace(controls, (character) => {
    if (character === '\n') return '\\n';
    if (character === '\t') return '\\t';
    if (character === '\r') return '\\r';
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

/** Many lines, safe to show: line ends and tabs stay. */
export const printableLines = (text: string) =>
  text.replace(/[^\n\t]+/g, (words) => printable(words));

/** JSON text that says the same with every such character spelled out. */
export const printableJson = (json: string) =>
  json.replace(controls, (character) =>
    character === '\n' ? character : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/** Any JSON value as one cell. */
export function cell(value: unknown): string {
  if (value === undefined || value === null) return '';
  // Slugs and the like read best as a list.
  if (Array.isArray(value) && value.every((each) => typeof each !== 'object'))
    return value.map(cell).join(', ');
  return printable(textIn(value) ?? toJson(value));
}

/**
 * `just now`, `5 minutes ago`, `in 3 hours`; days past a month give the date. What is no timestamp is
 * shown as it came.
 */
export function when(timestamp: unknown, now: number): string {
  const then = timeIn(timestamp);
  if (then === undefined) return cell(timestamp);
  const seconds = Math.abs(now - then) / 1000;
  if (seconds < 45) return 'just now';
  const [unit, size] = (
    [
      ['minute', 60],
      ['hour', 3600],
      ['day', 86_400],
    ] as const
  ).reduce((best, next) => (seconds >= next[1] * 0.75 ? next : best));
  if (seconds > 31 * 86_400) return new Date(then).toISOString().slice(0, 10);
  const count = Math.round(seconds / size);
  const span = `${count} ${unit}${count === 1 ? '' : 's'}`;
  return then > now ? `in ${span}` : `${span} ago`;
}

/** What signs a URL is long, and of no use to a reader: a pipe and JSON have all of it. */
export const shortUrl = (text: string) =>
  text.replace(/^(https?:\/\/[^?\s]{1,200})\?\S{24,}$/, '$1?…');
