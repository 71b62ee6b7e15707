import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';

/** Decoders by content coding (RFC 9110 §8.4.1). */
const decoders = new Map([
  ['gzip', () => promisify(gunzip)],
  ['x-gzip', () => promisify(gunzip)],
  ['deflate', () => promisify(inflate)],
  ['br', () => promisify(brotliDecompress)],
]);

/**
 * Decodes a body that a proxy has compressed, which no request asks for.
 *
 * @param encoding value of the Content-Encoding header: the codings in the order in which they were applied
 * @param maxBytes maximum size of the decoded body, in bytes
 * @returns undefined if a coding is unknown, or if the body is not encoded so, is cut or is too large
 */
export async function decodeBody(body: Buffer, encoding: string, maxBytes: number): Promise<Buffer | undefined> {
  const codings = encoding
    .toLowerCase()
    .split(',')
    .map((each) => each.trim());
  let decoded = body;
  for (const coding of codings.reverse().filter((each) => each !== 'identity' && each !== '')) {
    const decode = decoders.get(coding)?.();
    if (!decode) return undefined;
    try {
      decoded = await decode(decoded, { maxOutputLength: maxBytes });
    } catch {
      return undefined;
    }
  }
  return decoded;
}
