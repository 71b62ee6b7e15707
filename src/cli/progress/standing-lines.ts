import type { ChalkInstance } from 'chalk';
import stringWidth from 'string-width';
import { duration } from '../../contract/figures.ts';
import { type Transfer, transferLine } from './transfer-line.ts';

/** What stands at the foot of the terminal, before it is known how wide that is. Words must be printable. */
export type Line =
  | { kind: 'transfer'; transfer: Transfer }
  /** What goes on, and since when, in seconds. */
  | { kind: 'working'; text: string; seconds: number }
  /** What it waits for, and how long yet, in seconds. */
  | { kind: 'waiting'; why: string; seconds: number }
  /** The most important first: as many as there is room for. */
  | { kind: 'parts'; parts: readonly string[] }
  /** A line each; names are cut at their beginning, since their end tells them apart. */
  | { kind: 'files'; files: readonly { name: string; state: string }[] };

/** The lines, none of them wider than so many columns. @param mark that turns while something goes on */
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
        const time = line.seconds < 1 ? '' : `  ${colors.dim(duration(line.seconds))}`;
        return [
          `${colors.cyan(mark())} ${cutAtEnd(line.text, columns - 2 - stringWidth(time))}${time}`,
        ];
      }
      case 'waiting': {
        const left = `: continuing in ${duration(Math.max(1, Math.ceil(line.seconds)))}`;
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

/** Names, and beside each how far it is. */
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

/** As many of them as so many columns hold. */
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

/** Names differ at their ends as often as at their beginnings. */
export function cutInMiddle(text: string, columns: number): string {
  if (stringWidth(text) <= columns) return text;
  const [before, after] = [Math.ceil((columns - 1) / 2), Math.floor((columns - 1) / 2)];
  const parts = partsOf(text);
  const end = fitting(partsOf(text).reverse(), after).reverse();
  return `${fitting(parts, before).join('')}…${end.join('')}`;
}

export function cutAtEnd(text: string, columns: number): string {
  if (stringWidth(text) <= columns) return text;
  return `${fitting(partsOf(text), columns - 1).join('')}…`;
}
