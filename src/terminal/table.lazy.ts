import CliTable from 'cli-table3';
import stringWidth from 'string-width';
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

/**
 * A borderless table fitted to the terminal: the widest columns give way first, then the last ones
 * are left out; uids stay whole.
 */
export function table(
  // biome-ignore lint/suspicious/noExplicitAny: only header and whole are read
  columns: readonly Column<any>[],
  rows: readonly string[][],
  render: RenderContext,
): string {
  const shown = columns.map((column, at) => {
    const cells = [column.header, ...rows.map((row) => row[at] ?? '')];
    return { column, at, width: Math.max(...cells.map((text) => stringWidth(text))) };
  });
  const excess = () => shown.reduce((sum, { width }) => sum + width + gap, -gap) - render.columns;
  const giving = () =>
    shown
      .filter(({ column, width }) => !column.whole && width > (column.least ?? least))
      .sort((a, b) => b.width - a.width)[0];
  for (let widest = giving(); widest && excess() > 0; widest = giving()) widest.width--;
  while (excess() > 0) {
    const spare = shown.findLastIndex(({ column }) => column.spare);
    const last = spare >= 0 ? spare : shown.findLastIndex(({ column }) => !column.whole);
    if (last < 0) break;
    shown.splice(last, 1);
  }
  const drawn = new CliTable({
    chars: frameless,
    style: { 'padding-left': 0, 'padding-right': gap, head: [], border: [] },
    head: shown.map(({ column }) => render.colors.dim(column.header)),
    colWidths: shown.map(({ width }) => width + gap),
  });
  drawn.push(...rows.map((row) => shown.map(({ at }) => row[at] ?? '')));
  return `${drawn
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')}\n`;
}
