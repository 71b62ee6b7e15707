const gap = 12;
/** Margin of `.rows` in the style sheet, rounded to pixels. */
const margin = 14;
const textHeight = 78;
const minCardWidth = 190;
/** Minimum card width on phones, in pixels; leaves room for two columns. */
const minPhoneCardWidth = 140;

export type CardBounds = {
  left: number;
  top: number;
  bottom: number;
  width: number;
  height: number;
};

export type Layout = {
  columns: number;
  /** Height of all rows, in pixels. */
  height: number;
  /**
   * Returns the index range [from, to) of the cards to render: the visible rows, and one row above and below them.
   */
  visibleRange(top: number, height: number): [from: number, to: number];
  boundsOf(index: number): CardBounds;
};

/** Computes the grid of the virtual list. All rows have the same height, so the position of any card is known. */
export function computeLayout(outerWidth: number, length: number): Layout {
  const width = Math.max(0, outerWidth - 2 * margin);
  const least = width < 480 ? minPhoneCardWidth : minCardWidth;
  const columns = Math.max(1, Math.floor((width + gap) / (least + gap)));
  const cardWidth = (width - (columns - 1) * gap) / columns;
  const cardHeight = Math.round((cardWidth * 9) / 16 + textHeight);
  const rowHeight = cardHeight + gap;
  const rows = Math.ceil(length / columns);
  return {
    columns,
    height: Math.max(0, rows * rowHeight - gap),
    visibleRange: (top, height) => {
      const first = Math.max(0, Math.floor((top - margin) / rowHeight) - 1);
      const last = Math.min(rows, Math.ceil((top + height) / rowHeight) + 1);
      return [Math.min(first * columns, length), Math.min(last * columns, length)];
    },
    boundsOf: (index) => {
      const [row, column] = [Math.floor(index / columns), index % columns];
      const top = row * rowHeight;
      return {
        ...{ left: column * (cardWidth + gap), width: cardWidth, height: cardHeight },
        ...{ top, bottom: top + cardHeight + 2 * margin },
      };
    },
  };
}

type Step = (at: number, length: number) => number;

/**
 * Returns a function that computes the index of the card to which a key moves the focus; undefined for other keys.
 */
export function stepForKey(key: string, { columns }: Layout): Step | undefined {
  const steps: Record<string, Step> = {
    ArrowRight: (at) => at + 1,
    ArrowLeft: (at) => at - 1,
    ArrowDown: (at, length) => (at + columns < length ? at + columns : at),
    ArrowUp: (at) => (at >= columns ? at - columns : at),
    PageDown: (at) => at + 4 * columns,
    PageUp: (at) => at - 4 * columns,
    Home: () => 0,
    End: (_, length) => length - 1,
  };
  return Object.hasOwn(steps, key) ? steps[key] : undefined;
}
