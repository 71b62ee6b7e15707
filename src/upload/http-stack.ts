import type { HttpRequest, HttpResponse, HttpStack } from 'tus-js-client';
import { errorFrom } from '../api/error-response.ts';
import type { ApiResponse } from '../api/messages.ts';
import type { Headers } from '../api/rate-limit.ts';
import type { Transport } from '../api/transport.ts';
import { uploadPurpose } from '../api/upload-sessions.ts';
import { exitCodes, MediactlError } from '../errors.ts';
import type { PrefixDigest } from './prefix-digest.ts';
import type { FileSource } from './source.ts';

/** What our file reader gives tus-js-client as a chunk: a place in the file, not its bytes. */
export type Chunk = { start: number; end: number; size: number };

export type SessionState = {
  transport: Transport;
  source: FileSource;
  digest: PrefixDigest;
  /** True until the first answer: nothing has been sent to this session yet. */
  fresh: boolean;
  idleTimeoutMs: number;
  signal: AbortSignal | undefined;
  /** Bytes per second; undefined for as fast as it goes. */
  rateLimit: number | undefined;
  /** Bytes were handed to the socket; `at` is where in the file they end. */
  onSent(count: number, at: number): void;
  /** An offset that the service confirmed; awaited before the next byte leaves. */
  onAcknowledged(offset: number, headers: Headers): Promise<void>;
};

/** Answers with one offset over and over are no progress; after this many it stops. */
const stallLimit = 5;

/**
 * tus-js-client's way to the network, over our transport, for one session of §4. It knows what the
 * stock stack does not: a fresh session needs no HEAD; HEAD promises no `Upload-Length`; a 429 is
 * waited out; a 409 carries the offset to go on from.
 */
export class SessionHttpStack implements HttpStack {
  readonly #state: SessionState;
  #stalled = 0;
  /** When the next piece may leave, under --limit-rate. */
  #dueAt = 0;

  constructor(state: SessionState) {
    this.#state = state;
  }

  getName(): string {
    return 'mediactl';
  }

  createRequest(method: string, url: string): HttpRequest {
    const headers: Record<string, string> = {};
    const abort = new AbortController();
    const signal = this.#state.signal
      ? AbortSignal.any([abort.signal, this.#state.signal])
      : abort.signal;
    return {
      getMethod: () => method,
      getURL: () => url,
      setHeader: (name, value) => {
        headers[name.toLowerCase()] = value;
      },
      getHeader: (name) => headers[name.toLowerCase()],
      setProgressHandler: () => {}, // it would count bytes handed over, not acknowledged
      send: (chunk: Chunk | null) =>
        method === 'HEAD' || !chunk
          ? this.#askOffset(url, headers, signal)
          : this.#sendChunk(url, headers, chunk, signal),
      abort: async () => abort.abort(),
      getUnderlyingObject: () => undefined,
    };
  }

  /** "HEAD {location} … returns the current Upload-Offset, from which a client resumes." (§4) */
  async #askOffset(url: string, headers: Record<string, string>, signal: AbortSignal) {
    const { fresh, transport, source } = this.#state;
    if (fresh) return answer(200, { 'upload-offset': '0', 'upload-length': `${source.sizeBytes}` });
    const response = await transport.exchange({
      method: 'HEAD',
      url,
      headers,
      retry: 'pacing',
      purpose: uploadPurpose,
      signal,
    });
    if (response.status >= 300) throw errorFrom(response, uploadPurpose);
    return this.#acknowledge(response);
  }

  /** "PATCH {location} transfers bytes … at most 50 MiB per request." (§4) */
  async #sendChunk(
    url: string,
    headers: Record<string, string>,
    chunk: Chunk,
    signal: AbortSignal,
  ) {
    const { transport, digest, idleTimeoutMs } = this.#state;
    await digest.catchUp(chunk.start);
    this.#state.fresh = false;
    const response = await transport.exchange({
      method: 'PATCH',
      url,
      headers,
      body: { lengthBytes: chunk.size, open: () => this.#bytes(chunk, signal) },
      retry: 'pacing',
      purpose: uploadPurpose,
      idleTimeoutMs,
      signal,
    });
    // "409 means the sent Upload-Offset differs from the server's; the response header
    // Upload-Offset holds the correct one." (§4)
    if (response.status !== 409 && response.status >= 300) throw errorFrom(response, uploadPurpose);
    return this.#acknowledge(response, chunk);
  }

  async *#bytes({ start, end }: Chunk, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const { source, digest, rateLimit, onSent } = this.#state;
    let at = start;
    for await (const block of source.read(start, end, digest.take.bind(digest)))
      for await (const bytes of rateLimit === undefined ? [block] : this.#paced(block, signal)) {
        yield bytes;
        at += bytes.length;
        onSent(bytes.length, at);
      }
  }

  /** Ten pieces a second at --limit-rate, each when it is due. */
  async *#paced(block: Buffer, signal: AbortSignal): AsyncGenerator<Buffer> {
    const { transport, rateLimit = 1 } = this.#state;
    const step = Math.max(1, Math.floor(rateLimit / 10));
    for (let at = 0; at < block.length; at += step) {
      const piece = block.subarray(at, at + step);
      const aheadMs = this.#dueAt - transport.clock.now();
      if (aheadMs > 0) await transport.clock.sleep(aheadMs, signal);
      const from = Math.max(this.#dueAt, transport.clock.now());
      this.#dueAt = from + (piece.length / rateLimit) * 1000;
      yield piece;
    }
  }

  async #acknowledge(response: ApiResponse, chunk?: Chunk): Promise<HttpResponse> {
    const { source, digest, onAcknowledged } = this.#state;
    const offset = Number(response.headers['upload-offset'] ?? Number.NaN);
    if (!Number.isSafeInteger(offset) || offset < 0)
      throw broken(`the answer to ${chunk ? 'PATCH' : 'HEAD'} names no Upload-Offset`, response);
    if (offset > source.sizeBytes)
      throw broken(
        `the service holds ${offset} bytes of a file of ${source.sizeBytes}`,
        response,
        exitCodes.integrity,
      );
    if (chunk && response.status < 300 && offset > chunk.end)
      throw broken(
        `the service acknowledges byte ${offset}, and was sent ${chunk.end}`,
        response,
        exitCodes.integrity,
      );
    if (chunk)
      this.#stalled = response.status < 300 && offset > chunk.start ? 0 : this.#stalled + 1;
    if (this.#stalled >= stallLimit)
      throw broken(`the upload does not get past byte ${offset}`, response);
    await digest.catchUp(offset);
    await onAcknowledged(offset, response.headers);
    return answer(204, { ...response.headers, 'upload-length': `${source.sizeBytes}` });
  }
}

const broken = (
  problem: string,
  response: ApiResponse,
  exitCode: MediactlError['exitCode'] = exitCodes.unreachable,
) =>
  new MediactlError(problem, {
    code: 'broken_session',
    exitCode,
    status: response.status,
    reason: 'the upload session does not behave as the protocol says',
    hint: 'run the same command again; if it repeats, mediactl upload --no-resume starts anew',
  });

const answer = (status: number, headers: Headers): HttpResponse => ({
  getStatus: () => status,
  getHeader: (name) => headers[name.toLowerCase()],
  getBody: () => '',
  getUnderlyingObject: () => undefined,
});
