import { formatBytes, formatDuration } from '../../shared/figures.ts';
import { asNumber } from '../../shared/json-values.ts';
import { displayText, relativeTime } from '../../shared/sanitize.ts';
import type { Column, RenderContext } from './result.ts';

type Shown = Pick<RenderContext, 'isTerminal'>;

/* Formats of table cells: readable on a terminal, and the value itself in a pipe. Empty for null and undefined. */

/** Formats a size in bytes, with units on a terminal. */
export const sizeText = (bytes: unknown, shown: Shown) => figureText(bytes, shown, formatBytes);

function figureText(value: unknown, { isTerminal }: Shown, format: (figure: number) => string) {
  const figure = asNumber(value);
  return figure === undefined || !isTerminal ? displayText(value) : format(figure);
}

/** Returns the text of a record's cell: what its column makes of it, or the value of the field, by the kind its name tells. */
// biome-ignore lint/suspicious/noExplicitAny: columns and record agree where a result is built
export function cellOf({ field = '', value }: Column<any>, record: any, render: RenderContext): string {
  if (value) return value(record, render);
  if (/_at$/.test(field) && render.isTerminal) return relativeTime(record[field], render.now);
  if (/^duration/.test(field)) return figureText(record[field], render, formatDuration);
  return (/^size$|_bytes$/.test(field) ? sizeText : displayText)(record[field], render);
}
