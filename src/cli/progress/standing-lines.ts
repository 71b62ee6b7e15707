import type { ChalkInstance } from 'chalk';
import stringWidth from 'string-width';
import { formatDuration } from '../../contract/figures.ts';
import { type Transfer, transferLine } from './transfer-line.ts';

/** A line of the live display, before it is fitted to the terminal's width. Text must have control characters escaped. */
export type Line =
  | { kind: 'transfer'; transfer: Transfer }
  /** Current activity and its duration in seconds. */
  | { kind: 'working'; text: string; seconds: number }
  /** Reason of a wait and the seconds left. */
  | { kind: 'waiting'; why: string; seconds: number }
  /** Parts of one line, the most important first; those that do not fit are dropped. */
  | { kind: 'parts'; parts: readonly string[] }
  /** Files in flight, one a line; names are truncated at the start, since paths differ at the end. */
  | { kind: 'files'; files: readonly { name: string; state: string }[] };

/** Renders the lines of the live display, each at most `columns` wide. @param spinnerFrame returns the current spinner frame */
export function drawnLines(
  lines: readonly Line[],
  columns: number,
  colors: ChalkInstance,
  mark: () => string,
): string[] {
  return lines.flatMap((line): string[] => {
    switch (line.kind) {
      case 'transfer':
        return [transferLine(line.transfer, columns, colors)];
      case 'working': {
        const time = line.seconds < 1 ? '' : `  ${colors.dim(formatDuration(line.seconds))}`;
        return [
          `${colors.cyan(mark())} ${cutAtEnd(line.text, columns - 2 - stringWidth(time))}${time}`,
        ];
      }
      case 'waiting': {
        const left = `: continuing in ${formatDuration(Math.max(1, Math.ceil(line.seconds)))}`;
        return [colors.yellow(`  ${cutAtEnd(line.why, columns - 2 - left.length)}${left}`)];
      }
      case 'parts':
        return [fitted(line.parts, columns)];
      default:
        return inColumns(line.files, columns);
    }
  });
}

const separator = ' · ';

function fitted(parts: readonly string[], columns: number): string {
  let line = '';
  for (const part of parts) {
    const longer = line === '' ? cutAtEnd(part, columns) : `${line}${separator}${part}`;
    if (stringWidth(longer) > columns) break;
    line = longer;
  }
  return line;
}

/** Aligns file names and their progress in two columns. */
function inColumns(files: readonly { name: string; state: string }[], columns: number): string[] {
  const widest = Math.max(...files.map(({ state }) => stringWidth(state)));
  const cut = files.map(({ name }) => cutAtStart(name, columns - widest - 4));
  const width = Math.max(...cut.map((name) => stringWidth(name)));
  return files.map(({ state }, at) => {
    const name = cut[at] ?? '';
    return `  ${name}${' '.repeat(width - stringWidth(name))}  ${state}`;
  });
}

const graphemes = new Intl.Segmenter();
const partsOf = (text: string) => [...graphemes.segment(text)].map(({ segment }) => segment);

/** Returns the leading graphemes that fit into `columns`. */
function fitting(parts: readonly string[], columns: number): string[] {
  let width = 0;
  const end = parts.findIndex((part) => {
    width += stringWidth(part);
    return width > columns;
  });
  return end < 0 ? [...parts] : parts.slice(0, end);
}

function cutAtStart(text: string, columns: number): string {
  if (stringWidth(text) <= columns) return text;
  return `…${fitting(partsOf(text).reverse(), columns - 1)
    .reverse()
    .join('')}`;
}

/** Truncates text in the middle, since names differ at the end as often as at the start. */
export function cutInMiddle(text: string, columns: number): string {
  if (stringWidth(text) <= columns) return text;
  const [before, after] = [Math.ceil((columns - 1) / 2), Math.floor((columns - 1) / 2)];
  const parts = partsOf(text);
  const end = fitting(partsOf(text).reverse(), after).reverse();
  return `${fitting(parts, before).join('')}…${end.join('')}`;
}

/** Truncates text at the end to a width in terminal columns. */
export function cutAtEnd(text: string, columns: number): string {
  if (stringWidth(text) <= columns) return text;
  return `${fitting(partsOf(text), columns - 1).join('')}…`;
}
