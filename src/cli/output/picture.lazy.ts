import { Chalk } from 'chalk';
import { PNG } from 'pngjs';
import { decodeImage, type Pixels, scaleDown } from './pictures/pixels.ts';
import type { GraphicsProtocol } from './pictures/protocol.ts';

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
  if (protocol === 'blocks') return renderHalfBlocks(scaleDown(pixels, cells.columns, 2 * cells.rows), hasTrueColor);
  const width = Math.min(cells.columns * cellWidth * highDensityFactor, pixels.width);
  const height = Math.min(cells.rows * cellHeight * highDensityFactor, pixels.height);
  const fine = scaleDown(pixels, width, height);
  return protocol === 'kitty' ? encodeKitty(fine, cells) : encodeIterm(fine, cells);
}

/** Returns the picture's size in characters, scaled down to fit but never enlarged. Keeps the aspect ratio. */
function fitCells({ width, height }: Pixels, { columns, rows }: Cells): Cells {
  const scale = Math.min(1, (columns * cellWidth) / width, (rows * cellHeight) / height);
  const count = (size: number, cell: number, most: number) =>
    Math.max(1, Math.min(most, Math.round((size * scale) / cell)));
  return { columns: count(width, cellWidth, columns), rows: count(height, cellHeight, rows) };
}

/* Escape sequences for pictures. They are built from pixels alone and contain no bytes of the source file. */

/** Size on the terminal, in characters. */
type Cells = { columns: number; rows: number };

/**
 * Encodes for the kitty protocol in chunks of 4,096 characters. `q=2` suppresses the terminal's replies, which
 * would otherwise arrive as keyboard input.
 */
function encodeKitty(pixels: Pixels, { columns, rows }: Cells): string {
  const base64 = encodePng(pixels).toString('base64');
  const parts = base64.match(/.{1,4096}/gs) ?? [];
  const chunks = parts.map((part, at) => {
    const first = at === 0 ? `a=T,f=100,q=2,c=${columns},r=${rows},` : 'q=2,';
    return `\u001b_G${first}m=${at < parts.length - 1 ? 1 : 0};${part}\u001b\\`;
  });
  return chunks.join('');
}

function encodeIterm(pixels: Pixels, { columns, rows }: Cells): string {
  const file = encodePng(pixels);
  const how = `inline=1;size=${file.length};width=${columns};height=${rows};preserveAspectRatio=1`;
  return `\u001b]1337;File=${how}:${file.toString('base64')}\u0007`;
}

/**
 * Renders with half-block characters. Each character shows two pixels, with the upper pixel as the foreground color
 * and the lower pixel as the background color.
 */
function renderHalfBlocks({ width, height, data }: Pixels, hasAllColours: boolean): string {
  const chalk = new Chalk({ level: hasAllColours ? 3 : 2 });
  const colourAt = (x: number, y: number) =>
    [...data.subarray((y * width + x) * 4, (y * width + x) * 4 + 3)] as [number, number, number];
  const line = (y: number) =>
    Array.from({ length: width }, (_, x) =>
      chalk.rgb(...colourAt(x, y)).bgRgb(...colourAt(x, Math.min(y + 1, height - 1)))('▀'),
    ).join('');
  return Array.from({ length: Math.ceil(height / 2) }, (_, row) => line(2 * row)).join('\n');
}

function encodePng({ width, height, data }: Pixels): Buffer {
  const picture = new PNG({ width, height });
  picture.data = Buffer.from(data);
  return PNG.sync.write(picture, { colorType: 2 });
}
