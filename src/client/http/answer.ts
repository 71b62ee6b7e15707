import type { Headers } from './rate-limit.ts';
import { unexpectedAnswer } from './unexpected-answer.ts';

/** What the API answers is far smaller; a body past this is not its. */
const maxAnswerBytes = 256 * 1024 * 1024;

/** The body, or its first `wantedBytes`: then the connection is ended, not drained. */
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

/** Hands on each part of the body; nothing is kept. */
export async function drain(body: AsyncIterable<Buffer>, sink: (part: Buffer) => Promise<void>) {
  for await (const part of body) await sink(part);
  return Buffer.alloc(0);
}

const tooLarge = () =>
  unexpectedAnswer('the answer does not end', {
    reason: `it is past ${maxAnswerBytes} bytes`,
  });

/** Names in lower case, repeated headers joined. */
export const flatten = (headers: Record<string, string | string[] | undefined>): Headers =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name.toLowerCase(),
      Array.isArray(value) ? value.join(', ') : value,
    ]),
  );
