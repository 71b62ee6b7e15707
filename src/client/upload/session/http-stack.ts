import type { HttpRequest, HttpResponse, HttpStack } from 'tus-js-client';
import { parseUploadOffset } from '../../../contract/tus.ts';
import { transferPurpose } from '../../api/upload-sessions.ts';
import type { ErrorCode } from '../../error-table.ts';
import { MediactlError } from '../../errors.ts';
import type { ApiResponse } from '../../http/api-request.ts';
import { errorFrom } from '../../http/error-response.ts';
import type { ResponseHeaders } from '../../http/rate-limit-headers.ts';
import type { Transport } from '../../http/transport.ts';
import type { PrefixDigest } from '../sources/prefix-digest.ts';
import type { UploadSource } from '../sources/source.ts';
import type { Throttle } from './throttle.ts';

/** Chunk that our file reader passes to tus-js-client. It is a byte range and does not hold the bytes. */
export type Chunk = { start: number; end: number; size: number };

/** Dependencies and callbacks of the transfer to one upload session. */
export type SessionState = {
  transport: Transport;
  source: UploadSource;
  digest: PrefixDigest;
  /** True for a new session to which nothing has been sent yet. */
  isFresh: boolean;
  /** Upper bound for the number of bytes that earlier runs sent. */
  sentTo: number;
  idleTimeoutMs: number;
  signal: AbortSignal | undefined;
  /** Bandwidth limit; undefined for none. */
  throttle: Throttle | undefined;
  /** Awaited before any byte of a chunk that ends at `end` is sent. */
  onSending(end: number): Promise<void>;
  /** Called after `count` bytes were written to the socket; `at` is their end offset in the file. */
  onSent(count: number, at: number): void;
  /** Called with each offset that the service confirms, and awaited before the next byte is sent. */
  onAcknowledged(offset: number, headers: ResponseHeaders): Promise<void>;
};

/** Number of consecutive responses without progress after which the upload fails as stalled. */
const maxStalls = 5;
/** Minimum number of new bytes that count as progress, since one byte per request would use up the rate limit. */
const minProgressBytes = 1024;

/**
 * HTTP stack for tus-js-client that uses our transport, for one upload session (§4). Unlike the default stack, it
 * skips the HEAD request for a new session, accepts a HEAD response without `Upload-Length`, waits after a 429
 * response, and resumes at the offset in a 409 response.
 */
export class SessionHttpStack implements HttpStack {
  readonly #state: SessionState;
  /** Highest offset that the service has confirmed. */
  #highestOffset = 0;
  /** Highest offset up to which this run has written bytes to a socket. */
  #sentThisRun = 0;
  /** Offset up to which bytes are acknowledged, or were sent without a response from the service itself. */
  #maybeReceived = 0;
  #stalls = 0;

  constructor(state: SessionState) {
    this.#state = state;
  }

  /** True if the service might have every byte, because the last bytes were sent and not rejected. */
  get isAllSent(): boolean {
    return this.#maybeReceived >= this.#state.source.sizeBytes;
  }

  getName(): string {
    return 'mediactl';
  }

  createRequest(method: string, url: string): HttpRequest {
    const headers: Record<string, string> = {};
    const abort = new AbortController();
    const signal = this.#state.signal ? AbortSignal.any([abort.signal, this.#state.signal]) : abort.signal;
    return {
      getMethod: () => method,
      getURL: () => url,
      setHeader: (name, value) => {
        headers[name.toLowerCase()] = value;
      },
      getHeader: (name) => headers[name.toLowerCase()],
      setProgressHandler: () => {}, // its count would be of bytes read, not acknowledged
      send: (chunk: Chunk | null) =>
        method === 'HEAD' || !chunk
          ? this.#fetchOffset(url, headers, signal)
          : this.#sendChunk(url, headers, chunk, signal),
      abort: async () => abort.abort(),
      getUnderlyingObject: () => undefined,
    };
  }

  /** Fetches the offset: "HEAD {location} … returns the current Upload-Offset, from which a client resumes." (§4) */
  async #fetchOffset(url: string, headers: Record<string, string>, signal: AbortSignal) {
    const { isFresh, transport, source } = this.#state;
    if (isFresh) return createResponse(200, { 'upload-offset': '0', 'upload-length': `${source.sizeBytes}` });
    const response = await transport.exchange({
      method: 'HEAD',
      url,
      headers,
      retry: 'rate-limit',
      purpose: transferPurpose,
      signal,
    });
    if (response.status >= 300) throw errorFrom(response, transferPurpose);
    return this.#acknowledge(response);
  }

  /** Sends a chunk: "PATCH {location} transfers bytes … at most 50 MiB per request." (§4) */
  async #sendChunk(url: string, headers: Record<string, string>, chunk: Chunk, signal: AbortSignal) {
    const { transport, digest, idleTimeoutMs } = this.#state;
    await digest.catchUp(chunk.start);
    this.#state.isFresh = false;
    let response: ApiResponse;
    try {
      response = await transport.exchange({
        method: 'PATCH',
        url,
        headers,
        body: { lengthBytes: chunk.size, open: () => this.#bytes(chunk, signal) },
        retry: 'rate-limit',
        purpose: transferPurpose,
        idleTimeoutMs,
        signal,
      });
    } catch (error) {
      this.#maybeReceived = this.#sentThisRun;
      throw error;
    }
    // A gateway might have sent this response although the service received every byte.
    if (response.status >= 500 || response.status === 408) this.#maybeReceived = this.#sentThisRun;
    // "409 means the sent Upload-Offset differs from the server's; the response header
    // Upload-Offset holds the correct one." (§4)
    if (response.status !== 409 && response.status >= 300) throw errorFrom(response, transferPurpose);
    return this.#acknowledge(response, chunk);
  }

  async *#bytes({ start, end }: Chunk, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const { source, digest, throttle, onSending, onSent } = this.#state;
    await onSending(end);
    let at = start;
    const reading = {
      onRead: digest.update.bind(digest),
      assertUnchanged: digest.assertUnchanged.bind(digest),
    };
    for await (const block of source.read(start, end, reading))
      for await (const bytes of throttle?.pace(block, signal) ?? [block]) {
        at += bytes.length;
        this.#sentThisRun = Math.max(this.#sentThisRun, at);
        yield bytes;
        onSent(bytes.length, at);
      }
  }

  async #acknowledge(response: ApiResponse, chunk?: Chunk): Promise<HttpResponse> {
    const { source, digest, onAcknowledged, sentTo: sentBefore } = this.#state;
    const offset = parseUploadOffset(response.headers['upload-offset']);
    if (offset === undefined)
      throw brokenSession(`the answer to ${chunk ? 'PATCH' : 'HEAD'} names no Upload-Offset`, response);
    if (offset > source.sizeBytes)
      throw brokenSession(
        `the service has ${offset} bytes of a file of ${source.sizeBytes}`,
        response,
        'session_mismatch',
      );
    const sentTo = Math.max(sentBefore, this.#sentThisRun);
    // The state folder might be an old backup that records too few bytes. The checksum decides at the end.
    if (offset > sentTo && this.#sentThisRun === 0 && !chunk) this.#state.sentTo = offset;
    else if (offset > sentTo)
      throw brokenSession(
        `the service acknowledges byte ${offset}, and was sent ${sentTo}`,
        response,
        'session_mismatch',
      );
    // If the offset went back, reaching the same offset again does not count as progress.
    const minBytes = Math.min(minProgressBytes, chunk?.size ?? 1);
    if (offset >= this.#highestOffset + minBytes) this.#stalls = 0;
    else if (chunk && (response.status === 409 || offset < chunk.start + minBytes)) this.#stalls++;
    this.#highestOffset = Math.max(this.#highestOffset, offset);
    if (this.#stalls >= maxStalls)
      throw brokenSession(`the upload does not get past byte ${this.#highestOffset}`, response);
    this.#maybeReceived = Math.max(this.#maybeReceived, offset);
    await digest.catchUp(offset);
    await onAcknowledged(offset, response.headers);
    return createResponse(204, { ...response.headers, 'upload-length': `${source.sizeBytes}` });
  }
}

const brokenSession = (problem: string, response: ApiResponse, code: ErrorCode = 'broken_session') =>
  new MediactlError(problem, {
    code,
    status: response.status,
    reason: 'the upload session does not behave as the protocol says',
  });

const createResponse = (status: number, headers: ResponseHeaders): HttpResponse => ({
  getStatus: () => status,
  getHeader: (name) => headers[name.toLowerCase()],
  getBody: () => '',
  getUnderlyingObject: () => undefined,
});
