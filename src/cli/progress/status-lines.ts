import type { ChalkInstance } from 'chalk';
import stringWidth from 'string-width';
import { formatDuration } from '../../contract/figures.ts';
import { renderTransferLine, type TransferState } from './transfer-line.ts';

/**
 * A line of the live display, before it is fitted to the terminal's width. Control characters in texts must already
 * be escaped.
 */
export type StatusLine =
  | { kind: 'transfer'; transfer: TransferState }
  /** Current activity and the seconds since it began. */
  | { kind: 'working'; text: string; seconds: number }
  /** Reason for a wait and the seconds left. */
  | { kind: 'waiting'; why: string; seconds: number }
  /** Parts of one line, the most important first. Parts that do not fit are dropped. */
  | { kind: 'parts'; parts: readonly string[] }
  /** Files in flight, one per line. Names are truncated at the start, since paths differ at the end. */
  | { kind: 'files'; files: readonly { name: string; state: string }[] };

/**
 * Renders the lines of the live display, each at most `columns` wide.
 *
 * @param spinnerFrame returns the current frame of the spinner animation
 */
export function renderStatusLines(
  lines: readonly StatusLine[],
  columns: number,
  colors: ChalkInstance,
  spinnerFrame: () => string,
): string[] {
  return lines.flatMap((line): string[] => {
    switch (line.kind) {
      case 'transfer':
        return [renderTransferLine(line.transfer, columns, colors)];
      case 'working': {
        const time = line.seconds < 1 ? '' : `  ${colors.dim(formatDuration(line.seconds))}`;
        return [`${colors.cyan(spinnerFrame())} ${truncateEnd(line.text, columns - 2 - stringWidth(time))}${time}`];
      }
      case 'waiting': {
        const left = `: continuing in ${formatDuration(Math.max(1, Math.ceil(line.seconds)))}`;
        return [colors.yellow(`  ${truncateEnd(line.why, columns - 2 - left.length)}${left}`)];
      }
      case 'parts':
        return [joinFitting(line.parts, columns)];
      default:
        return alignFiles(line.files, columns);
    }
  });
}

const separator = ' · ';

function joinFitting(parts: readonly string[], columns: number): string {
  let line = '';
  for (const part of parts) {
    const longer = line === '' ? truncateEnd(part, columns) : `${line}${separator}${part}`;
    if (stringWidth(longer) > columns) break;
    line = longer;
  }
  return line;
}

/** Aligns file names and their progress in two columns. */
function alignFiles(files: readonly { name: string; state: string }[], columns: number): string[] {
  const widest = Math.max(...files.map(({ state }) => stringWidth(state)));
  const cut = files.map(({ name }) => truncateStart(name, columns - widest - 4));
  const width = Math.max(...cut.map((name) => stringWidth(name)));
  return files.map(({ state }, at) => {
    const name = cut[at] ?? '';
    return `  ${name}${' '.repeat(width - stringWidth(name))}  ${state}`;
  });
}

const graphemes = new Intl.Segmenter();
const graphemesOf = (text: string) => [...graphemes.segment(text)].map(({ segment }) => segment);

/** Returns the leading graphemes that fit into `columns` terminal columns. */
function leadingGraphemes(parts: readonly string[], columns: number): string[] {
  let width = 0;
  const end = parts.findIndex((part) => {
    width += stringWidth(part);
    return width > columns;
  });
  return end < 0 ? [...parts] : parts.slice(0, end);
}

function truncateStart(text: string, columns: number): string {
  if (stringWidth(text) <= columns) return text;
  return `…${leadingGraphemes(graphemesOf(text).reverse(), columns - 1)
    .reverse()
    .join('')}`;
}

/** Truncates text in the middle to `columns`, since names differ at the end as often as at the start. */
export function truncateMiddle(text: string, columns: number): string {
  if (stringWidth(text) <= columns) return text;
  const [before, after] = [Math.ceil((columns - 1) / 2), Math.floor((columns - 1) / 2)];
  const parts = graphemesOf(text);
  const end = leadingGraphemes(graphemesOf(text).reverse(), after).reverse();
  return `${leadingGraphemes(parts, before).join('')}…${end.join('')}`;
}

/** Truncates text at the end to `columns`. */
export function truncateEnd(text: string, columns: number): string {
  if (stringWidth(text) <= columns) return text;
  return `${leadingGraphemes(graphemesOf(text), columns - 1).join('')}…`;
}
