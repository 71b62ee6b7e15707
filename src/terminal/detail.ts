import stringWidth from 'string-width';
import type { Dress, Row } from './result.ts';

/** Label and value, a line each. Piped, they are separated by a tab; empty values are left out. */
export function detail(rows: readonly Row[], dress: Dress): string {
  const shown = rows.filter(([, value]) => value !== '');
  if (!dress.isTerminal) return shown.map(([label, value]) => `${label}\t${value}\n`).join('');
  const width = Math.max(...shown.map(([label]) => stringWidth(label)));
  return shown
    .map(
      ([label, value]) =>
        `${dress.colors.dim(label)}${' '.repeat(width - stringWidth(label))}  ${value}\n`,
    )
    .join('');
}
