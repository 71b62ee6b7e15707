import { crc32, deflateSync } from 'node:zlib';
import { encode } from 'jpeg-js';
import { PNG } from 'pngjs';

/* Valid, malformed and hostile pictures. */

export const red = [220, 30, 30] as const;
export const blue = [30, 30, 220] as const;

/** Creates RGBA pixels: red on the left, blue on the right. */
function twoColorPixels(width: number, height: number): Buffer {
  const line = Buffer.alloc(width * 4);
  for (let x = 0; x < width; x++) line.set([...(x < width / 2 ? red : blue), 255], x * 4);
  return Buffer.alloc(width * height * 4, line);
}

export const makeJpeg = (width: number, height: number): Buffer =>
  encode({ width, height, data: twoColorPixels(width, height) }, 90).data;

export function makePng(width: number, height: number): Buffer {
  const png = new PNG({ width, height });
  png.data = twoColorPixels(width, height);
  return PNG.sync.write(png);
}

/** Creates a PNG whose pixel data is `bytes` zeros, whatever size its header states: a decompression bomb. */
export function makePngBomb(width: number, height: number, bytes: number, isInterlaced = false) {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, isInterlaced ? 1 : 0], 8);
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    makeChunk('IHDR', header),
    makeChunk('IDAT', deflateSync(Buffer.alloc(bytes))),
    makeChunk('IEND', Buffer.alloc(0)),
  ]);
}

function makeChunk(type: string, content: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), content]);
  const ends = [Buffer.alloc(4), Buffer.alloc(4)] as const;
  ends[0].writeUInt32BE(content.length);
  ends[1].writeUInt32BE(crc32(named));
  return Buffer.concat([ends[0], named, ends[1]]);
}

export const scriptedSvg = Buffer.from(
  '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(2)</script></svg>',
);

/** Escape sequences that would rename and clear a terminal window. */
export const escapeSequences = Buffer.from('\u001b]0;taken\u0007\u001b[2J\u001b_Ga=T;AAAA\u001b\\');
