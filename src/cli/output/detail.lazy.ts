import stringWidth from 'string-width';
import type { RenderContext, Row } from './result.ts';

/** Formats the fields of a record as two aligned columns: dimmed labels and their values. */
export function detail(rows: readonly Row[], render: RenderContext): string {
  const width = Math.max(...rows.map(([label]) => stringWidth(label)));
  return rows
    .map(
      ([label, value]) =>
        `${render.colors.dim(label)}${' '.repeat(width - stringWidth(label))}  ${value}\n`,
    )
    .join('');
}
