import type { HttpRequest, HttpResponse, HttpStack } from 'tus-js-client';
import { offsetIn } from '../../../contract/tus.ts';
import { transferPurpose } from '../../api/upload-sessions.ts';
import { exitCodes, MediactlError } from '../../errors.ts';
import { errorFrom } from '../../http/error-response.ts';
import type { ApiResponse } from '../../http/messages.ts';
import type { Headers } from '../../http/rate-limit.ts';
import type { Transport } from '../../http/transport.ts';
import type { PrefixDigest } from '../sources/prefix-digest.ts';
import type { Source } from '../sources/source.ts';
import type { Throttle } from './throttle.ts';

/** What our file reader gives tus-js-client as a chunk: a place in the file, not its bytes. */
export type Chunk = { start: number; end: number; size: number };

export type SessionState = {
  transport: Transport;
  source: Source;
  digest: PrefixDigest;
  /** True until the first answer: nothing has been sent to this session yet. */
  fresh: boolean;
  /** No byte from here on was sent by an earlier run. */
  sentTo: number;
  idleTimeoutMs: number;
  signal: AbortSignal | undefined;
  /** Undefined for as fast as it goes. */
  throttle: Throttle | undefined;
  /** Awaited before a byte up to `end` leaves. */
  onSending(end: number): Promise<void>;
  /** Bytes were handed to the socket; `at` is where in the file they end. */
  onSent(count: number, at: number): void;
  /** An offset that the service confirmed; awaited before the next byte leaves. */
  onAcknowledged(offset: number, headers: Headers): Promise<void>;
};

/** Answers without progress before an upload is given up. */
const stallLimit = 5;
/** Less than this of a longer chunk is no progress: a request a byte would use up the rate limit. */
const minProgressBytes = 1024;

/**
 * tus-js-client's way to the network, over our transport, for one session of §4. It knows what the
 * stock stack does not: a fresh session needs no HEAD; HEAD promises no `Upload-Length`; a 429 is
 * waited out; a 409 carries the offset to go on from.
 */
export class SessionHttpStack implements HttpStack {
  readonly #state: SessionState;
  /** The highest offset that the service has confirmed. */
  #highest = 0;
  /** No byte from here on was handed to a socket in this run. */
  #sentHere = 0;
  /** Up to here bytes were acknowledged, or sent without an answer of the service's own. */
  #maybeTaken = 0;
  #stalled = 0;

  constructor(state: SessionState) {
    this.#state = state;
  }

  /** Whether the service may hold every byte: the last ones were sent, and it did not refuse them. */
  get isAllSent(): boolean {
    return this.#maybeTaken >= this.#state.source.sizeBytes;
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
      purpose: transferPurpose,
      signal,
    });
    if (response.status >= 300) throw errorFrom(response, transferPurpose);
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
    let response: ApiResponse;
    try {
      response = await transport.exchange({
        method: 'PATCH',
        url,
        headers,
        body: { lengthBytes: chunk.size, open: () => this.#bytes(chunk, signal) },
        retry: 'pacing',
        purpose: transferPurpose,
        idleTimeoutMs,
        signal,
      });
    } catch (error) {
      this.#maybeTaken = this.#sentHere;
      throw error;
    }
    // A gateway answers so where the service may have taken everything.
    if (response.status >= 500 || response.status === 408) this.#maybeTaken = this.#sentHere;
    // "409 means the sent Upload-Offset differs from the server's; the response header
    // Upload-Offset holds the correct one." (§4)
    if (response.status !== 409 && response.status >= 300)
      throw errorFrom(response, transferPurpose);
    return this.#acknowledge(response, chunk);
  }

  async *#bytes({ start, end }: Chunk, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const { source, digest, throttle, onSending, onSent } = this.#state;
    await onSending(end);
    let at = start;
    const reading = {
      onRead: digest.take.bind(digest),
      assertUnchanged: digest.assertUnchanged.bind(digest),
    };
    for await (const block of source.read(start, end, reading))
      for await (const bytes of throttle?.pieces(block, signal) ?? [block]) {
        at += bytes.length;
        this.#sentHere = Math.max(this.#sentHere, at);
        yield bytes;
        onSent(bytes.length, at);
      }
  }

  async #acknowledge(response: ApiResponse, chunk?: Chunk): Promise<HttpResponse> {
    const { source, digest, onAcknowledged, sentTo: sentBefore } = this.#state;
    const offset = offsetIn(response.headers['upload-offset']);
    if (offset === undefined)
      throw broken(`the answer to ${chunk ? 'PATCH' : 'HEAD'} names no Upload-Offset`, response);
    if (offset > source.sizeBytes)
      throw broken(
        `the service has ${offset} bytes of a file of ${source.sizeBytes}`,
        response,
        exitCodes.integrity,
      );
    const sentTo = Math.max(sentBefore, this.#sentHere);
    // A restored state folder may be older than what was sent: at the end the checksum decides.
    if (offset > sentTo && this.#sentHere === 0 && !chunk) this.#state.sentTo = offset;
    else if (offset > sentTo)
      throw broken(
        `the service acknowledges byte ${offset}, and was sent ${sentTo}`,
        response,
        exitCodes.integrity,
      );
    // An answer that goes back is no progress, however far the next ones get up to there again.
    const least = Math.min(minProgressBytes, chunk?.size ?? 1);
    if (offset >= this.#highest + least) this.#stalled = 0;
    else if (chunk && (response.status === 409 || offset < chunk.start + least)) this.#stalled++;
    this.#highest = Math.max(this.#highest, offset);
    if (this.#stalled >= stallLimit)
      throw broken(`the upload does not get past byte ${this.#highest}`, response);
    this.#maybeTaken = Math.max(this.#maybeTaken, offset);
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
    hint: 'run the same command again; if it repeats, mediactl upload --again starts from the beginning',
  });

const answer = (status: number, headers: Headers): HttpResponse => ({
  getStatus: () => status,
  getHeader: (name) => headers[name.toLowerCase()],
  getBody: () => '',
  getUnderlyingObject: () => undefined,
});
