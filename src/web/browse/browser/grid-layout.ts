const gap = 16;
/** Margin of `.rows` in the style sheet, in pixels. */
export const margin = 16;
/** Two lines: the name, and what is known of the asset. */
const textHeight = 52;
const minPhoneCardWidth = 140; // leaves room for two columns

/** Minimum width of a card of each density, in a list of the usual width. */
const minCardWidths = { small: 150, medium: 204, large: 320 };
export type Density = keyof typeof minCardWidths;
export const densities = Object.keys(minCardWidths) as Density[];
/** Width of a list from which on cards grow with it, and how much at most. */
const [usualWidth, maxGrowth] = [1160, 1.5];

/** A rectangle in pixels, from the corner of the first card. */
export type DrawnBox = { x: number; y: number; width: number; height: number };

export type Layout = ReturnType<typeof computeLayout>;

/** Computes where the cards of a list are. All rows have one height. @param outerWidth width of the container, in pixels */
export function computeLayout(outerWidth: number, length: number, density: Density) {
  const width = Math.max(0, outerWidth - 2 * margin);
  const growth = Math.min(maxGrowth, Math.max(1, width / usualWidth));
  const minWidth = width < 480 && density !== 'large' ? minPhoneCardWidth : minCardWidths[density] * growth;
  const columns = Math.max(1, Math.floor((width + gap) / (minWidth + gap)));
  const cardWidth = (width - (columns - 1) * gap) / columns;
  const cardHeight = Math.round((cardWidth * 9) / 16 + textHeight);
  const rowHeight = cardHeight + gap;
  const rows = Math.ceil(length / columns);
  const topOf = (index: number) => Math.floor(index / columns) * rowHeight;
  return {
    columns,
    length,
    height: Math.max(0, rows * rowHeight - gap),
    /** Size of a card in pixels. */
    cardWidth,
    cardHeight,
    /** Returns the indexes [from, to) of the cards to render: the visible rows, and one row above and below them. */
    visibleRange: (top: number, height: number): [from: number, to: number] => {
      const first = Math.max(0, Math.floor((top - margin) / rowHeight) - 1);
      const last = Math.min(rows, Math.ceil((top + height) / rowHeight) + 1);
      return [Math.min(first * columns, length), Math.min(last * columns, length)];
    },
    extentOf: (index: number) => ({ top: topOf(index), bottom: topOf(index) + cardHeight + 2 * margin }),
    styleOf: (index: number) => ({
      left: `${(index % columns) * (cardWidth + gap)}px`,
      top: `${topOf(index)}px`,
      width: `${cardWidth}px`,
      height: `${cardHeight}px`,
    }),
    /** Returns the indexes of the cards that a box touches, rendered or not. A box within a gap touches none. */
    indexesIn: (box: DrawnBox): number[] => {
      const column = cardWidth + gap;
      const clamp = (n: number) => Math.min(columns - 1, Math.max(0, n));
      const first = clamp(Math.floor((box.x + gap) / column));
      const last = clamp(Math.floor((box.x + box.width) / column));
      const firstRow = Math.max(0, Math.floor((box.y + gap) / rowHeight));
      const lastRow = Math.min(rows - 1, Math.floor((box.y + box.height) / rowHeight));
      const found: number[] = [];
      for (let row = firstRow; row <= lastRow; row++)
        for (let at = first; at <= last; at++) if (row * columns + at < length) found.push(row * columns + at);
      return found;
    },
  };
}

/** Returns a function that computes the index of the card to which a key moves the focus; undefined for other keys. */
export function stepForKey(key: string, { columns }: Layout) {
  const steps: Record<string, (index: number, length: number) => number> = {
    ArrowRight: (index) => index + 1,
    ArrowLeft: (index) => index - 1,
    ArrowDown: (index, length) => (index + columns < length ? index + columns : index),
    ArrowUp: (index) => (index >= columns ? index - columns : index),
    PageDown: (index) => index + 4 * columns,
    PageUp: (index) => index - 4 * columns,
    Home: () => 0,
    End: (_, length) => length - 1,
  };
  return Object.hasOwn(steps, key) ? steps[key] : undefined;
}
