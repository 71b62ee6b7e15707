import stringWidth from 'string-width';
import type { RenderContext, Row } from './result.ts';

/** Labels in a column of their own, dimmed; values beside them. */
export function detail(rows: readonly Row[], render: RenderContext): string {
  const width = Math.max(...rows.map(([label]) => stringWidth(label)));
  return rows
    .map(
      ([label, value]) =>
        `${render.colors.dim(label)}${' '.repeat(width - stringWidth(label))}  ${value}\n`,
    )
    .join('');
}
