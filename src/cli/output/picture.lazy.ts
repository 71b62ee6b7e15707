import { blocks, type Cells, iterm, kitty, sixel } from './pictures/escapes.ts';
import { decoded, type Pixels, scaled } from './pictures/pixels.ts';
import type { Protocol } from './pictures/protocol.ts';

/** How a picture is to be shown, and the room that it may take. */
export type Room = Cells & { protocol: Protocol; hasAllColours: boolean };

/** Of one character, in pixels: what most terminals have at least, so that nothing sticks out. */
const [cellWidth, cellHeight] = [8, 16];
/** Terminals that scale are given more: screens with finer pixels show it. */
const finer = 2;

/**
 * What a terminal is to be told to show a JPEG or PNG, or why nothing can be shown. Whatever the bytes
 * are, only pixels get through: they are decoded, made smaller, and encoded again.
 */
export function drawn(bytes: Buffer, room: Room): { text: string } | { problem: string } {
  try {
    return { text: `${encoded(decoded(bytes), room)}\n` };
  } catch (error) {
    return { problem: (error as Error).message };
  }
}

function encoded(pixels: Pixels, { protocol, hasAllColours, ...most }: Room): string {
  const cells = cellsFor(pixels, most);
  const fitting = (perColumn: number, perRow: number) => {
    const [width, height] = [cells.columns * perColumn, cells.rows * perRow];
    return scaled(pixels, Math.min(width, pixels.width), Math.min(height, pixels.height));
  };
  if (protocol === 'blocks')
    return blocks(scaled(pixels, cells.columns, 2 * cells.rows), hasAllColours);
  if (protocol === 'sixel') return sixel(fitting(cellWidth, cellHeight));
  const fine = fitting(finer * cellWidth, finer * cellHeight);
  return protocol === 'kitty' ? kitty(fine, cells) : iterm(fine, cells);
}

/** As large as there is room, no larger than it is, and not out of shape. */
function cellsFor({ width, height }: Pixels, { columns, rows }: Cells): Cells {
  const scale = Math.min(1, (columns * cellWidth) / width, (rows * cellHeight) / height);
  const count = (size: number, cell: number, most: number) =>
    Math.max(1, Math.min(most, Math.round((size * scale) / cell)));
  return { columns: count(width, cellWidth, columns), rows: count(height, cellHeight, rows) };
}
