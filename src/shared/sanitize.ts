import { pluralize } from './figures.ts';
import { asText, parseTimestamp } from './json-values.ts';

/** Matches characters that control a terminal or reorder text: C0, DEL, C1, Unicode line and direction controls. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
export const controlCharacters = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

const shortEscapes: Record<string, string> = { '\n': '\\n', '\t': '\\t', '\r': '\\r' };
const unicodeEscape = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Sanitizes a string for one line of a terminal by escaping control characters, for example as `\n` or `\u001b`. */
export const escapeControls = (text: string): string =>
  text.replace(controlCharacters, (character) => shortEscapes[character] ?? unicodeEscape(character));

/** Sanitizes multi-line text by escaping all control characters except line breaks and tabs. */
export const escapeControlsInLines = (text: string) => text.replace(/[^\n\t]+/g, (words) => escapeControls(words));

/** Escapes control characters in JSON text without changing its meaning. */
export const escapeControlsInJson = (json: string) =>
  json.replace(controlCharacters, (character) => (character === '\n' ? character : unicodeEscape(character)));

/** Formats any JSON value as sanitized text for a table cell. */
export function displayText(value: unknown): string {
  if (value === undefined || value === null) return '';
  // Lists of slugs and similar values are most readable as comma-separated text.
  if (Array.isArray(value) && value.every((each) => typeof each !== 'object')) return value.map(displayText).join(', ');
  return escapeControls(asText(value) ?? JSON.stringify(value));
}

const unitSeconds = { minute: 60, hour: 3600, day: 86_400 };

/**
 * Formats a timestamp relative to `now` (milliseconds since the epoch), such as `just now`, `5 minutes ago` or `in
 * 3 hours`. A timestamp more than a month from now is shown as a date, and an invalid one as sanitized text.
 */
export function relativeTime(timestamp: unknown, now: number): string {
  const then = parseTimestamp(timestamp);
  if (then === undefined) return displayText(timestamp);
  const seconds = Math.abs(now - then) / 1000;
  if (seconds < 45) return 'just now';
  if (seconds > 31 * unitSeconds.day) return new Date(then).toISOString().slice(0, 10);
  const unit = seconds < 0.75 * unitSeconds.hour ? 'minute' : seconds < 0.75 * unitSeconds.day ? 'hour' : 'day';
  const span = pluralize(Math.round(seconds / unitSeconds[unit]), unit);
  return then > now ? `in ${span}` : `${span} ago`;
}

/** Replaces the query string of a signed URL with `…` for display. Piped output and JSON contain the full URL. */
export const shortenUrl = (text: string) => text.replace(/^(https?:\/\/[^?\s]{1,200})\?\S{24,}$/, '$1?…');

/** Quotes a text for a command to paste into a shell, if it needs quotes. */
export const quoteForShell = (text: string) =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
