import { blocks, type Cells, iterm, kitty, sixel } from './pictures/escapes.ts';
import { decoded, type Pixels, scaled } from './pictures/pixels.ts';
import type { Protocol } from './pictures/protocol.ts';

/** Graphics protocol, color depth and maximum size (in characters) of a picture. */
export type Room = Cells & { protocol: Protocol; hasAllColours: boolean };

/** Assumed size of a character cell in pixels. Most terminals have larger cells, so pictures never overflow. */
const [cellWidth, cellHeight] = [8, 16];
/** Extra resolution for terminals that scale pictures themselves, for high-density screens. */
const finer = 2;

/**
 * Returns the escape sequences that show a JPEG or PNG, or the reason why it cannot be shown. The image
 * is decoded, scaled down and encoded again, so that no byte of an untrusted file reaches the terminal.
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

/** Returns the largest size in characters that fits, keeps the aspect ratio and does not enlarge the picture. */
function cellsFor({ width, height }: Pixels, { columns, rows }: Cells): Cells {
  const scale = Math.min(1, (columns * cellWidth) / width, (rows * cellHeight) / height);
  const count = (size: number, cell: number, most: number) =>
    Math.max(1, Math.min(most, Math.round((size * scale) / cell)));
  return { columns: count(width, cellWidth, columns), rows: count(height, cellHeight, rows) };
}
