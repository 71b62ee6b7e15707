import type { ResponseHeaders } from './rate-limit-headers.ts';
import { unexpectedResponse } from './unexpected-response.ts';

/** Maximum size of a response body that is read into memory. API responses are far smaller. */
const maxResponseBytes = 256 * 1024 * 1024;

/** Reads a whole response body, or only its first `maxBytes`, in which case the connection is closed instead of drained. */
export async function readBody(body: AsyncIterable<Buffer>, maxBytes: number | undefined) {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of body) {
    parts.push(part);
    size += part.length;
    if (maxBytes !== undefined && size >= maxBytes) break;
    if (size > maxResponseBytes) throw tooLarge();
  }
  return Buffer.concat(parts).subarray(0, maxBytes);
}

/** Streams a response body into a sink without buffering the body. Returns an empty buffer. */
export async function streamInto(body: AsyncIterable<Buffer>, sink: (part: Buffer) => Promise<void>) {
  for await (const part of body) await sink(part);
  return Buffer.alloc(0);
}

const tooLarge = () =>
  unexpectedResponse('the answer does not end', {
    reason: `it is past ${maxResponseBytes} bytes`,
  });

/** Converts header names to lower case and joins the values of repeated headers. */
export const normalizeHeaders = (headers: Record<string, string | string[] | undefined>): ResponseHeaders =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name.toLowerCase(),
      Array.isArray(value) ? value.join(', ') : value,
    ]),
  );
