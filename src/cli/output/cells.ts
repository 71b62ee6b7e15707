import { formatBytes, formatDuration } from '../../shared/figures.ts';
import { asNumber } from '../../shared/json-values.ts';
import { displayText, relativeTime } from '../../shared/sanitize.ts';
import type { Column, RenderContext } from './result.ts';

type Shown = Pick<RenderContext, 'isTerminal' | 'now'>;

/* Formats of table cells: readable on a terminal, and the value itself in a pipe. Empty for null and undefined. */

/** Formats a size in bytes, with units on a terminal. */
export const sizeText = (bytes: unknown, shown: Pick<Shown, 'isTerminal'>) => figureText(bytes, shown, formatBytes);

/** Formats a duration in seconds, as minutes and seconds on a terminal. */
export const durationText = (seconds: unknown, shown: Pick<Shown, 'isTerminal'>) =>
  figureText(seconds, shown, formatDuration);

function figureText(value: unknown, { isTerminal }: Pick<Shown, 'isTerminal'>, format: (figure: number) => string) {
  const figure = asNumber(value);
  return figure === undefined || !isTerminal ? displayText(value) : format(figure);
}

/** Formats a time in ISO 8601, relative to now on a terminal. */
export const timeText = (time: unknown, { isTerminal, now }: Shown) =>
  isTerminal ? relativeTime(time, now) : displayText(time);

/** Returns the text of a record's cell: what its column makes of it, or the value of the field, by the kind its name tells. */
// biome-ignore lint/suspicious/noExplicitAny: columns and record agree where a result is built
export function cellOf({ field = '', value }: Column<any>, record: any, render: RenderContext): string {
  if (value) return value(record, render);
  if (/_at$/.test(field)) return timeText(record[field], render);
  if (/^duration/.test(field)) return durationText(record[field], render);
  return (/^size$|_bytes$/.test(field) ? sizeText : displayText)(record[field], render);
}
