import CliTable from 'cli-table3';
import stringWidth from 'string-width';
import { cutInMiddle } from '../progress/standing-lines.ts';
import type { Column, RenderContext } from './result.ts';

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

/** Preferred column width; columns grow or shrink from it with the space available. */
const comfortable = 28;

/**
 * Renders a borderless table fitted to the terminal. Columns are dropped by `dropPriority` until the
 * others have their preferred width; then the widest are truncated.
 */
export function table(
  // biome-ignore lint/suspicious/noExplicitAny: only headers and layout options are read
  columns: readonly Column<any>[],
  rows: readonly string[][],
  render: RenderContext,
): string {
  const shown = columns
    .map((column, at) => {
      const cells = [column.header, ...rows.map((row) => row[at] ?? '')];
      return { column, at, width: Math.max(...cells.map((text) => stringWidth(text))) };
    })
    .filter(({ column, at }) => column.header === '' || rows.some((row) => row[at] !== ''));
  type Shown = (typeof shown)[number];
  const excess = (widthOf: (each: Shown) => number) =>
    shown.reduce((sum, each) => sum + widthOf(each) + gap, -gap) - render.columns;
  const comfort = ({ column, width: own }: Shown) =>
    isWhole(column) ? own : Math.min(own, comfortable);
  while (excess(comfort) > 0) {
    const most = Math.max(...shown.map(({ column }) => column.spare ?? 0));
    if (most === 0) break;
    shown.splice(
      shown.findLastIndex(({ column }) => (column.spare ?? 0) === most),
      1,
    );
  }
  const giving = () =>
    shown
      .filter(({ column, width }) => !isWhole(column) && width > (column.least ?? least))
      .sort((a, b) => b.width - a.width)[0];
  const width = ({ width: own }: Shown) => own;
  for (let widest = giving(); widest && excess(width) > 0; widest = giving()) widest.width--;
  while (excess(width) > 0) {
    const last = shown.findLastIndex(({ column }) => !isWhole(column));
    if (last <= 0) break;
    shown.splice(last, 1);
  }
  const drawn = new CliTable({
    chars: frameless,
    style: { 'padding-left': 0, 'padding-right': gap, head: [], border: [] },
    head: shown.map(({ column }) => render.colors.dim(column.header)),
    colWidths: shown.map(({ width }) => width + gap),
  });
  drawn.push(
    ...rows.map((row) =>
      shown.map(({ at, column, width: columns }) =>
        column.leads ? cutInMiddle(row[at] ?? '', columns) : (row[at] ?? ''),
      ),
    ),
  );
  return `${drawn
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')}\n`;
}

const isWhole = ({ whole, uid }: Column<unknown>) => Boolean(whole ?? uid);
