import { inflateSync } from 'node:zlib';
import { decode as decodeJpeg } from 'jpeg-js';
import { PNG } from 'pngjs';

/** Red, green, blue and alpha of each pixel, a byte each; alpha is always 255. */
export type Pixels = { width: number; height: number; data: Uint8Array };

/** A thumbnail is a fraction of one; the decoders take their time, and nobody can end them. */
const mostMegapixels = 16;
const tooLarge = `it has more than ${mostMegapixels} megapixels`;
/** A progressive JPEG has ten or so; each makes the decoder go over the whole picture. */
const mostScans = 40;

/** The pixels of a JPEG or PNG, and nothing else that is in the file. @throws whatever is wrong with it */
export function decoded(bytes: Buffer): Pixels {
  if (isPng(bytes)) return decodedPng(bytes);
  if (isJpeg(bytes)) return decodedJpeg(bytes);
  throw new Error('it is neither a JPEG nor a PNG');
}

const isPng = (bytes: Buffer) => bytes.subarray(0, 8).toString('hex') === '89504e470d0a1a0a';
const isJpeg = (bytes: Buffer) => bytes.subarray(0, 3).toString('hex') === 'ffd8ff';

function decodedPng(bytes: Buffer): Pixels {
  // The decoder, too, takes these for the size: the first chunk must be the header.
  const header = bytes.subarray(0, 24);
  const [width, height] = known(() => [header.readUInt32BE(16), header.readUInt32BE(20)] as const);
  if (width * height > mostMegapixels * 1e6) throw new Error(tooLarge);
  return known(() => {
    assertInflates(bytes, 8 * width * height + 16 * height);
    return onWhite(PNG.sync.read(bytes));
  });
}

function decodedJpeg(bytes: Buffer): Pixels {
  let scans = 0;
  for (let at = bytes.indexOf(startOfScan); at >= 0; at = bytes.indexOf(startOfScan, at + 2))
    if (++scans > mostScans) throw new Error('it has too many scans');
  // The decoder looks at its header before it takes memory.
  const bounds = { maxResolutionInMP: mostMegapixels, maxMemoryUsageInMB: 1024 };
  const { width, height, data } = known(() => decodeJpeg(bytes, { useTArray: true, ...bounds }));
  return { width, height, data };
}

/** What a decoder throws, in words for people, and in no words of the file. */
function known<T>(decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    const isLarge = /^max(?:Resolution|Memory)/.test((error as Error).message);
    throw new Error(isLarge ? tooLarge : 'it is broken', { cause: error });
  }
}

const startOfScan = Buffer.from('ffda', 'hex');

/** A few bytes may inflate to gigabytes, and of an interlaced picture the decoder does not ask how many. */
function assertInflates(bytes: Buffer, most: number): void {
  const parts: Buffer[] = [];
  for (let at = 8; at + 8 <= bytes.length; ) {
    const length = bytes.readUInt32BE(at);
    if (bytes.toString('latin1', at + 4, at + 8) === 'IDAT')
      parts.push(bytes.subarray(at + 8, at + 8 + length));
    at += length + 12;
  }
  inflateSync(Buffer.concat(parts), { maxOutputLength: Math.max(1, most) });
}

/** What is transparent is shown as on a page: a terminal may have any colour behind it. */
function onWhite({ width, height, data }: Pixels): Pixels {
  const flat = new Uint8Array(data.length);
  for (let at = 0; at < data.length; at += 4) {
    const alpha = data[at + 3] as number;
    for (let part = 0; part < 3; part++)
      flat[at + part] = 255 + (((data[at + part] as number) - 255) * alpha) / 255;
    flat[at + 3] = 255;
  }
  return { width, height, data: flat };
}

/** A smaller picture: each pixel is the mean of those it stands for. */
export function scaled({ width, height, data }: Pixels, toWidth: number, toHeight: number): Pixels {
  const small = new Uint8Array(toWidth * toHeight * 4);
  for (let y = 0; y < toHeight; y++) {
    const [top, bottom] = span(y, toHeight, height);
    for (let x = 0; x < toWidth; x++) {
      const [left, right] = span(x, toWidth, width);
      const sum = [0, 0, 0, 0];
      for (let row = top; row < bottom; row++)
        for (let at = (row * width + left) * 4; at < (row * width + right) * 4; at += 4)
          for (let part = 0; part < 4; part++)
            sum[part] = (sum[part] as number) + (data[at + part] as number);
      const count = (bottom - top) * (right - left);
      for (let part = 0; part < 4; part++)
        small[(y * toWidth + x) * 4 + part] = (sum[part] as number) / count;
    }
  }
  return { width: toWidth, height: toHeight, data: small };
}

/** Of so many small ones, which of the large ones it stands for: one at least. */
function span(at: number, small: number, large: number): readonly [number, number] {
  const from = Math.floor((at * large) / small);
  return [from, Math.max(from + 1, Math.floor(((at + 1) * large) / small))];
}
