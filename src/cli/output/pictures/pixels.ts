import { inflateSync } from 'node:zlib';
import { decode as decodeJpeg } from 'jpeg-js';
import { PNG } from 'pngjs';

/** A decoded image in RGBA, one byte per channel. Alpha is always 255. */
export type Pixels = { width: number; height: number; data: Uint8Array };

/** Maximum image size, since decoders are synchronous and cannot be aborted. Thumbnails are far smaller. */
const maxMegapixels = 16;
const tooLarge = `it has more than ${maxMegapixels} megapixels`;
/**
 * Maximum number of JPEG scans, since the decoder processes the whole image for each scan. Progressive JPEGs have
 * about ten scans.
 */
const maxScans = 40;

/**
 * Decodes the pixels of a JPEG or PNG and discards everything else in the file.
 *
 * @throws Error with a message for users if the image cannot be decoded
 */
export function decodeImage(bytes: Buffer): Pixels {
  if (isPng(bytes)) return decodePngImage(bytes);
  if (isJpeg(bytes)) return decodeJpegImage(bytes);
  throw new Error('it is neither a JPEG nor a PNG');
}

const isPng = (bytes: Buffer) => bytes.subarray(0, 8).toString('hex') === '89504e470d0a1a0a';
const isJpeg = (bytes: Buffer) => bytes.subarray(0, 3).toString('hex') === 'ffd8ff';

function decodePngImage(bytes: Buffer): Pixels {
  // The header must be the first chunk; the decoder reads the size from the same bytes.
  const header = bytes.subarray(0, 24);
  const [width, height] = withSafeErrors(() => [header.readUInt32BE(16), header.readUInt32BE(20)] as const);
  if (width * height > maxMegapixels * 1e6) throw new Error(tooLarge);
  return withSafeErrors(() => {
    assertInflatedSize(bytes, 8 * width * height + 16 * height);
    return blendWithWhite(PNG.sync.read(bytes));
  });
}

function decodeJpegImage(bytes: Buffer): Pixels {
  let scans = 0;
  for (let at = bytes.indexOf(startOfScan); at >= 0; at = bytes.indexOf(startOfScan, at + 2))
    if (++scans > maxScans) throw new Error('it has too many scans');
  // The decoder checks these limits against the header before it allocates memory.
  const bounds = { maxResolutionInMP: maxMegapixels, maxMemoryUsageInMB: 1024 };
  const { width, height, data } = withSafeErrors(() => decodeJpeg(bytes, { useTArray: true, ...bounds }));
  return { width, height, data };
}

/** Runs a decoder and replaces its error messages, which could contain text from the untrusted file. */
function withSafeErrors<T>(decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    const isLarge = /^max(?:Resolution|Memory)/.test((error as Error).message);
    throw new Error(isLarge ? tooLarge : 'it is corrupt', { cause: error });
  }
}

const startOfScan = Buffer.from('ffda', 'hex');

/**
 * Rejects decompression bombs, since the decoder does not limit the inflated size of interlaced images.
 *
 * @param maxBytes maximum inflated size
 * @throws Error if the image data inflates to more bytes
 */
function assertInflatedSize(bytes: Buffer, maxBytes: number): void {
  const parts: Buffer[] = [];
  for (let at = 8; at + 8 <= bytes.length; ) {
    const length = bytes.readUInt32BE(at);
    if (bytes.toString('latin1', at + 4, at + 8) === 'IDAT') parts.push(bytes.subarray(at + 8, at + 8 + length));
    at += length + 12;
  }
  inflateSync(Buffer.concat(parts), { maxOutputLength: Math.max(1, maxBytes) });
}

/** Blends transparent pixels with white, since the terminal's background color is unknown. */
function blendWithWhite({ width, height, data }: Pixels): Pixels {
  const flat = new Uint8Array(data.length);
  for (let at = 0; at < data.length; at += 4) {
    const alpha = data[at + 3] as number;
    for (let part = 0; part < 3; part++) flat[at + part] = 255 + (((data[at + part] as number) - 255) * alpha) / 255;
    flat[at + 3] = 255;
  }
  return { width, height, data: flat };
}

/** Scales an image down. Each target pixel is the mean of the source pixels that it covers. */
export function scaleDown({ width, height, data }: Pixels, toWidth: number, toHeight: number): Pixels {
  const small = new Uint8Array(toWidth * toHeight * 4);
  for (let y = 0; y < toHeight; y++) {
    const [top, bottom] = sourceRange(y, toHeight, height);
    for (let x = 0; x < toWidth; x++) {
      const [left, right] = sourceRange(x, toWidth, width);
      const sum = [0, 0, 0, 0];
      for (let row = top; row < bottom; row++)
        for (let at = (row * width + left) * 4; at < (row * width + right) * 4; at += 4)
          for (let part = 0; part < 4; part++) sum[part] = (sum[part] as number) + (data[at + part] as number);
      const count = (bottom - top) * (right - left);
      for (let part = 0; part < 4; part++) small[(y * toWidth + x) * 4 + part] = (sum[part] as number) / count;
    }
  }
  return { width: toWidth, height: toHeight, data: small };
}

/** Returns the range of source pixels, at least one, that a target pixel covers along an axis. */
function sourceRange(at: number, small: number, large: number): readonly [number, number] {
  const from = Math.floor((at * large) / small);
  return [from, Math.max(from + 1, Math.floor(((at + 1) * large) / small))];
}
