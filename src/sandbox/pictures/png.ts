import { crc32, deflateSync } from 'node:zlib';

/** An RGB color; each component is 0 to 255. */
export type Color = readonly [number, number, number];

const signature = Buffer.from('89504e470d0a1a0a', 'hex');

/**
 * Encodes an image with a color palette as a PNG (ISO/IEC 15948). `colorAt` returns the palette index of a pixel.
 */
export function encodeIndexedPng(
  width: number,
  height: number,
  palette: readonly Color[],
  colorAt: (x: number, y: number) => number,
): Buffer {
  const rows = Buffer.alloc((width + 1) * height); // each row starts with its filter type: 0, none
  for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) rows[y * (width + 1) + 1 + x] = colorAt(x, y);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3], 8); // 8 bits per pixel, indexed color
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('PLTE', Buffer.from(palette.flat())),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(type: string, content: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), content]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(content.length);
  check.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, check]);
}
