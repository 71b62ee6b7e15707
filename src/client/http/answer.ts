import type { Headers } from './rate-limit.ts';
import { unexpectedAnswer } from './unexpected-answer.ts';

/** Maximum size of a response body. API responses are far smaller. */
const maxAnswerBytes = 256 * 1024 * 1024;

/** Reads a response body, or its first `maxBytes`: the connection is then closed instead of drained. */
export async function readBody(body: AsyncIterable<Buffer>, wantedBytes: number | undefined) {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of body) {
    parts.push(part);
    size += part.length;
    if (wantedBytes !== undefined && size >= wantedBytes) break;
    if (size > maxAnswerBytes) throw tooLarge();
  }
  return Buffer.concat(parts).subarray(0, wantedBytes);
}

/** Streams a response body into a sink without buffering it. */
export async function drain(body: AsyncIterable<Buffer>, sink: (part: Buffer) => Promise<void>) {
  for await (const part of body) await sink(part);
  return Buffer.alloc(0);
}

const tooLarge = () =>
  unexpectedAnswer('the answer does not end', {
    reason: `it is past ${maxAnswerBytes} bytes`,
  });

/** Converts header names to lower case and joins repeated headers. */
export const flatten = (headers: Record<string, string | string[] | undefined>): Headers =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name.toLowerCase(),
      Array.isArray(value) ? value.join(', ') : value,
    ]),
  );
