import CliTable from 'cli-table3';
import stringWidth from 'string-width';
import type { Column, Dress } from './output.ts';

const gap = 2;
const least = 6;

const frameless = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '',
};

/** A borderless table fitted to the terminal: the widest columns give way first, uids never. */
export function table(
  // biome-ignore lint/suspicious/noExplicitAny: only header and whole are read
  columns: readonly Column<any>[],
  rows: readonly string[][],
  dress: Dress,
): string {
  const cells = [columns.map(({ header }) => header), ...rows];
  const widths = columns.map((_, at) =>
    Math.max(...cells.map((row) => stringWidth(row[at] ?? ''))),
  );
  let excess = widths.reduce((sum, width) => sum + width + gap, -gap) - dress.columns;
  while (excess > 0) {
    const widest = columns.reduce(
      (best, { whole }, at) =>
        !whole && (widths[at] as number) > least && (widths[at] as number) > (widths[best] ?? 0)
          ? at
          : best,
      -1,
    );
    if (widest < 0) break;
    widths[widest] = (widths[widest] as number) - 1;
    excess--;
  }
  const drawn = new CliTable({
    chars: frameless,
    style: { 'padding-left': 0, 'padding-right': gap, head: [], border: [] },
    head: columns.map(({ header }) => dress.colors.dim(header)),
    colWidths: widths.map((width) => width + gap),
  });
  drawn.push(...rows);
  return `${drawn
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')}\n`;
}
