import stringWidth from 'string-width';
import { wrapText } from '../terminal/wrap.ts';
import type { DetailRow, RenderContext } from './result.ts';

export function renderDetail(rows: readonly DetailRow[], render: RenderContext): string {
  const width = Math.max(...rows.map(([label]) => stringWidth(label)));
  return rows
    .map(([label, value]) => `${render.colors.dim(label)}${' '.repeat(width - stringWidth(label))}  ${value}`)
    .map((row) => `${wrapText(row, render.columns)}\n`)
    .join('');
}
