import { Chalk } from 'chalk';
import { PNG } from 'pngjs';
import { image2sixel } from 'sixel/lib/SixelEncoder.js';
import type { Pixels } from './pixels.ts';

/* Escape sequences for pictures. They are built from pixels alone and contain no bytes of the source file. */

/** Size on the terminal, in characters. */
export type Cells = { columns: number; rows: number };

/**
 * Encodes for the kitty protocol in chunks of 4,096 characters. `q=2` suppresses the terminal's replies, which
 * would otherwise arrive as keyboard input.
 */
export function encodeKitty(pixels: Pixels, { columns, rows }: Cells): string {
  const parts =
    encodePng(pixels)
      .toString('base64')
      .match(/.{1,4096}/gs) ?? [];
  return parts
    .map((part, at) => {
      const more = `m=${at < parts.length - 1 ? 1 : 0}`;
      const first = `a=T,f=100,q=2,c=${columns},r=${rows},`;
      return `\u001b_G${at === 0 ? first : 'q=2,'}${more};${part}\u001b\\`;
    })
    .join('');
}

/** Encodes for the inline image protocol of iTerm2. */
export function encodeIterm(pixels: Pixels, { columns, rows }: Cells): string {
  const file = encodePng(pixels);
  const how = `inline=1;size=${file.length};width=${columns};height=${rows};preserveAspectRatio=1`;
  return `\u001b]1337;File=${how}:${file.toString('base64')}\u0007`;
}

/** Encodes as sixel. The pixels are copied, since the encoder modifies its input. */
export const encodeSixel = ({ width, height, data }: Pixels) => image2sixel(data.slice(), width, height);

/**
 * Renders with half-block characters. Each character shows two pixels, with the upper pixel as the foreground color
 * and the lower pixel as the background color.
 */
export function renderHalfBlocks({ width, height, data }: Pixels, hasAllColours: boolean): string {
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
