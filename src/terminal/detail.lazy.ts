import stringWidth from 'string-width';
import type { Dress, Row } from './result.ts';

/** Labels in a column of their own, dimmed; values beside them. */
export function detail(rows: readonly Row[], dress: Dress): string {
  const width = Math.max(...rows.map(([label]) => stringWidth(label)));
  return rows
    .map(
      ([label, value]) =>
        `${dress.colors.dim(label)}${' '.repeat(width - stringWidth(label))}  ${value}\n`,
    )
    .join('');
}
