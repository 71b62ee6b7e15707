import type { ScreenCell } from './screen.ts';

const [cellWidth, lineHeight, margin] = [8.4, 18, 14];
/** The ANSI colors that mediactl uses, as CSS colors of a dark theme. */
const palette: Record<number, string> = {
  1: '#ff6b68',
  2: '#7bc275',
  3: '#e5c07b',
  4: '#61afef',
  6: '#56b6c2',
  8: '#7f848e',
};
const [background, foreground] = ['#1b1f27', '#d7dae0'];

const escapeXml = (text: string) =>
  text.replace(/[&<>]/g, (each) => `&#${each.charCodeAt(0)};`).replaceAll(' ', '\u00a0');

/** Renders a terminal screen as SVG text, which is sharp at any size. */
export function renderSvg(title: string, screen: readonly (readonly ScreenCell[])[]): string {
  const columns = Math.max(...screen.map((row) => row.length));
  const [width, height] = [Math.ceil(columns * cellWidth + 2 * margin), screen.length * lineHeight + 2 * margin];
  const rows = screen.map((row, y) => {
    const baseline = margin + (y + 0.75) * lineHeight;
    return runsOf(row)
      .map(({ text, x, cell, cells }) => {
        const style = [
          `fill="${cell.color === undefined ? foreground : (palette[cell.color] ?? foreground)}"`,
          cell.bold ? 'font-weight="bold"' : '',
          cell.dim ? 'opacity="0.6"' : '',
        ];
        const place = `x="${(margin + x * cellWidth).toFixed(1)}" y="${baseline.toFixed(1)}"`;
        const length = `textLength="${(cells * cellWidth).toFixed(1)}"`;
        return `<text ${[place, length, ...style].filter(Boolean).join(' ')}>${escapeXml(text)}</text>`;
      })
      .join('');
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14">`,
    `<title>${escapeXml(title)}</title>`,
    `<rect width="100%" height="100%" rx="8" fill="${background}"/>`,
    ...rows.filter(Boolean),
    '</svg>\n',
  ].join('\n');
}

/** Groups adjacent cells of the same style; omits trailing blanks. */
function runsOf(row: readonly ScreenCell[]) {
  const runs: { text: string; x: number; cells: number; cell: ScreenCell }[] = [];
  const end = row.findLastIndex(({ text }) => text.trim() !== '') + 1;
  for (const [x, cell] of row.slice(0, end).entries()) {
    const last = runs.at(-1);
    const hasSameStyle = last && (['color', 'bold', 'dim'] as const).every((each) => last.cell[each] === cell[each]);
    if (hasSameStyle) {
      last.text += cell.text;
      last.cells++;
    } else runs.push({ text: cell.text, x, cells: 1, cell });
  }
  return runs.filter(({ text }) => text.trim() !== '');
}

/** Returns the lines of a screen that `renderSvg` has rendered, without the spaces between its parts. */
export function textOfSvg(svg: string): string[] {
  const lines: string[] = [];
  for (const [, y = '', text = ''] of svg.matchAll(/<text [^>]*\by="([\d.]+)"[^>]*>([^<]*)</g)) {
    const line = Math.floor((Number(y) - margin) / lineHeight);
    const plain = text.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(code)).replaceAll('\u00a0', ' ');
    lines[line] = (lines[line] ?? '') + plain;
  }
  return Array.from(lines, (line) => line ?? '');
}
