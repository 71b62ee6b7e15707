import { type Cells, encodeIterm, encodeKitty, encodeSixel, renderHalfBlocks } from './pictures/encoders.ts';
import { decodeImage, type Pixels, scaleDown } from './pictures/pixels.ts';
import type { GraphicsProtocol } from './pictures/protocol.ts';

/** Graphics protocol, color depth, and maximum size in characters for a picture. */
export type PictureOptions = Cells & { protocol: GraphicsProtocol; hasTrueColor: boolean };

/** Assumed size of a character cell in pixels. It is small, so that pictures also fit where cells are larger. */
const [cellWidth, cellHeight] = [8, 16];
/** Factor for extra resolution on high-density screens, if the terminal scales pictures itself. */
const highDensityFactor = 2;

/**
 * Returns the escape sequences that show a JPEG or PNG, or the reason why it cannot be shown. The image is decoded,
 * scaled down and encoded again, so that no byte of an untrusted file reaches the terminal.
 */
export function renderPicture(bytes: Buffer, options: PictureOptions): { text: string } | { problem: string } {
  try {
    return { text: `${encodePicture(decodeImage(bytes), options)}\n` };
  } catch (error) {
    return { problem: (error as Error).message };
  }
}

function encodePicture(pixels: Pixels, { protocol, hasTrueColor, ...maxCells }: PictureOptions): string {
  const cells = fitCells(pixels, maxCells);
  const fitting = (perColumn: number, perRow: number) => {
    const [width, height] = [cells.columns * perColumn, cells.rows * perRow];
    return scaleDown(pixels, Math.min(width, pixels.width), Math.min(height, pixels.height));
  };
  if (protocol === 'blocks') return renderHalfBlocks(scaleDown(pixels, cells.columns, 2 * cells.rows), hasTrueColor);
  if (protocol === 'sixel') return encodeSixel(fitting(cellWidth, cellHeight));
  const fine = fitting(highDensityFactor * cellWidth, highDensityFactor * cellHeight);
  return protocol === 'kitty' ? encodeKitty(fine, cells) : encodeIterm(fine, cells);
}

/** Returns the picture's size in characters, scaled down to fit but never enlarged. Keeps the aspect ratio. */
function fitCells({ width, height }: Pixels, { columns, rows }: Cells): Cells {
  const scale = Math.min(1, (columns * cellWidth) / width, (rows * cellHeight) / height);
  const count = (size: number, cell: number, most: number) =>
    Math.max(1, Math.min(most, Math.round((size * scale) / cell)));
  return { columns: count(width, cellWidth, columns), rows: count(height, cellHeight, rows) };
}
