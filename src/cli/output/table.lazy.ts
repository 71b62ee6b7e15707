import CliTable from 'cli-table3';
import stringWidth from 'string-width';
import { truncatePath } from '../terminal/truncate.ts';
import { type Column, headerOf, type RenderContext } from './result.ts';

const gap = 2;
const minColumnWidth = 6;

const borders = [
  ...['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right'],
  ...['left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid', 'middle'],
];

/** Width in characters to which columns are reduced before any column is dropped. */
const preferredColumnWidth = 28;

/**
 * Renders a borderless table that fits the terminal. Drops columns by `dropPriority` until the remaining columns
 * fit at their preferred width, then truncates the widest columns.
 */
export function renderTable(
  // biome-ignore lint/suspicious/noExplicitAny: only headers and layout options are read
  columns: readonly Column<any>[],
  rows: readonly string[][],
  render: RenderContext,
): string {
  const visible = columns
    .map((column, at) => {
      const cells = [headerOf(column), ...rows.map((row) => row[at] ?? '')];
      return { column, at, width: Math.max(...cells.map((text) => stringWidth(text))) };
    })
    .filter(({ column, at }) => headerOf(column) === '' || rows.some((row) => row[at] !== ''));
  type VisibleColumn = (typeof visible)[number];
  const excess = (widthOf: (each: VisibleColumn) => number) =>
    visible.reduce((sum, each) => sum + widthOf(each) + gap, -gap) - render.columns;
  const preferredWidthOf = ({ column, width: own }: VisibleColumn) =>
    isNeverTruncated(column) ? own : Math.min(own, preferredColumnWidth);
  while (excess(preferredWidthOf) > 0) {
    const highestPriority = Math.max(...visible.map(({ column }) => column.dropPriority ?? 0));
    if (highestPriority === 0) break;
    const last = visible.findLastIndex(({ column }) => (column.dropPriority ?? 0) === highestPriority);
    visible.splice(last, 1);
  }
  const findWidestTruncatable = () =>
    visible
      .filter(({ column, width }) => !isNeverTruncated(column) && width > (column.minWidth ?? minColumnWidth))
      .sort((a, b) => b.width - a.width)[0];
  const width = ({ width: own }: VisibleColumn) => own;
  for (let widest = findWidestTruncatable(); widest && excess(width) > 0; widest = findWidestTruncatable())
    widest.width--;
  while (excess(width) > 0) {
    const last = visible.findLastIndex(({ column }) => !isNeverTruncated(column));
    if (last <= 0) break;
    visible.splice(last, 1);
  }
  const cliTable = new CliTable({
    chars: Object.fromEntries(borders.map((border) => [border, ''])),
    style: { 'padding-left': 0, 'padding-right': gap, head: [], border: [] },
    head: visible.map(({ column }) => render.colors.dim(headerOf(column))),
    colWidths: visible.map(({ width }) => width + gap),
  });
  const cellsOf = (row: readonly string[]) =>
    visible.map(({ at, column, width: columns }) =>
      column.isFirst ? truncatePath(row[at] ?? '', columns) : (row[at] ?? ''),
    );
  cliTable.push(...rows.map(cellsOf));
  const lines = cliTable.toString().split('\n');
  return `${lines.map((line) => line.trimEnd()).join('\n')}\n`;
}

const isNeverTruncated = ({ noTruncate, uid }: Pick<Column<never>, 'noTruncate' | 'uid'>) => Boolean(noTruncate ?? uid);
