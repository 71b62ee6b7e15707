import stringWidth from 'string-width';

/** Created when a text is too long, since that takes 10 ms. */
let graphemes: Intl.Segmenter | undefined;

/** Returns the leading graphemes that fit into `columns` terminal columns. */
function leadingGraphemes(parts: readonly string[], columns: number): string[] {
  let width = 0;
  const end = parts.findIndex((part) => {
    width += stringWidth(part);
    return width > columns;
  });
  return end < 0 ? [...parts] : parts.slice(0, end);
}

/** Truncates text to `columns`. Keeps `before` columns at its start, and the rest at its end. */
export function truncate(text: string, columns: number, before: number): string {
  if (stringWidth(text) <= columns) return text;
  graphemes ??= new Intl.Segmenter();
  const parts = [...graphemes.segment(text)].map(({ segment }) => segment);
  const start = leadingGraphemes(parts, before);
  const end = leadingGraphemes(parts.reverse(), columns - 1 - before).reverse();
  return `${start.join('')}…${end.join('')}`;
}

/** Truncates text in the middle to `columns`, since names differ at the end as often as at the start. */
const truncateMiddle = (text: string, columns: number) => truncate(text, columns, Math.ceil((columns - 1) / 2));

/** Truncates a name or a path to `columns`: its folders before the name of the file. */
export function truncatePath(path: string, columns: number): string {
  const before = columns - 1 - stringWidth(path.slice(path.lastIndexOf('/')));
  return path.includes('/') && before >= 0 ? truncate(path, columns, before) : truncateMiddle(path, columns);
}

export const truncateEnd = (text: string, columns: number) => truncate(text, columns, columns - 1);
