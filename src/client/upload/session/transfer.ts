import type { HttpRequest, HttpResponse, HttpStack } from 'tus-js-client';
import { retryUntil } from '../../../contract/retry.ts';
import { parseUploadOffset } from '../../../contract/tus.ts';
import { transferPurpose } from '../../api/upload-sessions.ts';
import type { ErrorCode } from '../../error-table.ts';
import { MediactlError } from '../../errors.ts';
import type { ApiRequest, ApiResponse } from '../../http/api-request.ts';
import { errorFrom, isGone, isRetryable } from '../../http/error-response.ts';
import type { ResponseHeaders } from '../../http/rate-limit-headers.ts';
import type { PrefixDigest } from '../sources/checksum.ts';
import type { OpenEntry } from '../store/upload-entry.ts';
import type { UploadRun } from './upload-run.ts';

/** Number of consecutive failures without a newly acknowledged byte after which the upload fails. */
const maxTries = 10;

/** Error for a transfer whose session the service does not know. */
export class SessionGoneError extends Error {
  readonly underlying: MediactlError;
  /** True if the session responded earlier in this run. */
  readonly hasResponded: boolean;
  /** True if every byte of the file might have arrived, since no response proves the contrary. */
  readonly isAllSent: boolean;

  constructor(underlying: MediactlError, { acknowledged, isAllSent }: SessionHttpStack) {
    super('the upload session is gone');
    this.underlying = underlying;
    this.hasResponded = acknowledged >= 0;
    this.isAllSent = isAllSent;
  }
}

/**
 * Sends bytes to a session until all are acknowledged. Retries with backoff after dropped connections and 5xx.
 *
 * @throws SessionGoneError if the service does not know the session
 * @throws MediactlError if retries cannot help or are used up; the session can be resumed later
 */
export async function transfer(run: UploadRun, entry: OpenEntry, listener: TransferListener): Promise<void> {
  const { signal, api } = run.deps;
  const { transport } = api;
  const stack = new SessionHttpStack(run, entry, listener);
  let acknowledged = -1;
  let failures = 0;
  await retryUntil(signal, () => runTus(run, entry.session.url, stack), {
    clock: transport.clock,
    delayAfter: async (error) => {
      if (isGone(error)) throw new SessionGoneError(error, stack);
      failures = stack.acknowledged > acknowledged ? 1 : failures + 1;
      acknowledged = stack.acknowledged;
      return isRetryable(error) && failures < maxTries
        ? transport.waitBeforeRetry(failures - 1, error, signal).then(() => 0)
        : undefined;
    },
  });
}

/** Runs tus-js-client once. It sends HEAD, then PATCH requests until all bytes are sent or a request fails. */
async function runTus({ source, options, deps }: UploadRun, uploadUrl: string, stack: SessionHttpStack) {
  const { Upload } = await import('tus-js-client');
  const { signal } = deps;
  let onAbort = () => {};
  await new Promise<void>((resolve, reject) => {
    // tus-js-client only passes the source to our file reader, which ignores it.
    const upload = new Upload(source as unknown as Buffer, {
      // Without the `endpoint` option, tus-js-client can never create a second asset.
      uploadUrl,
      chunkSize: options.chunkBytes,
      retryDelays: null,
      storeFingerprintForResuming: false,
      fingerprint: async () => '',
      httpStack: stack,
      fileReader: {
        openFile: async () => ({
          size: source.sizeBytes,
          slice: async (start: number, end: number) => ({
            value: { start, end, size: end - start } satisfies ChunkRange,
            done: end >= source.sizeBytes,
          }),
          close: () => {},
        }),
      },
      onSuccess: () => resolve(),
      onError: (error) => reject(('causingError' in error && error.causingError) || error),
    });
    onAbort = () => {
      upload.abort();
      reject(signal?.reason);
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    upload.start();
  }).finally(() => signal?.removeEventListener('abort', onAbort));
}

/** Chunk that our file reader passes to tus-js-client. It is a byte range and does not hold the bytes. */
type ChunkRange = { start: number; end: number; size: number };

type SessionRequest = Omit<ApiRequest, 'method'> & { url: string };

export type TransferListener = {
  readonly digest: PrefixDigest;
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
class SessionHttpStack implements HttpStack {
  readonly #run: UploadRun;
  readonly #listener: TransferListener;
  /** True for a new session to which nothing has been sent yet. */
  #isFresh: boolean;
  readonly #assetUid: string;
  /** Upper bound for the number of bytes that earlier runs sent. */
  #sentBefore: number;
  /** Highest offset that the service has confirmed in this run; -1 before its first response. */
  acknowledged = -1;
  /** Highest offset up to which this run has written bytes to a socket. */
  #sentThisRun = 0;
  /** Offset up to which bytes are acknowledged, or were sent without a response from the service itself. */
  #maybeReceived = 0;
  #stalls = 0;

  constructor(run: UploadRun, { sentTo, session }: OpenEntry, listener: TransferListener) {
    this.#run = run;
    this.#listener = listener;
    this.#isFresh = run.resumedFrom === null;
    this.#sentBefore = this.#isFresh ? 0 : sentTo;
    this.#assetUid = session.assetUid;
  }

  /** True if the service might have every byte, because the last bytes were sent and not rejected. */
  get isAllSent(): boolean {
    // Until the session responds in this run, the bytes sent by an earlier run count.
    const maybeReceived = this.acknowledged < 0 ? this.#sentBefore : 0;
    return Math.max(this.#maybeReceived, maybeReceived) >= this.#run.source.sizeBytes;
  }

  getName(): string {
    return 'mediactl';
  }

  createRequest(method: string, url: string): HttpRequest {
    const headers: Record<string, string> = {};
    const { signal } = this.#run.deps;
    const request: SessionRequest = { url, headers, signal, retry: 'rate-limit', purpose: transferPurpose };
    return {
      getMethod: () => method,
      getURL: () => url,
      setHeader: (name, value) => {
        headers[name.toLowerCase()] = value;
      },
      getHeader: (name) => headers[name.toLowerCase()],
      setProgressHandler: () => {}, // its count would be of bytes read, not acknowledged
      send: (chunk: ChunkRange | null) =>
        method === 'HEAD' || !chunk ? this.#fetchOffset(request) : this.#sendChunk(request, chunk),
      abort: async () => {}, // only `runTus` aborts, with the signal that each request has
      getUnderlyingObject: () => undefined,
    };
  }

  /** Fetches the offset: "HEAD {location} … returns the current Upload-Offset, from which a client resumes." (§4) */
  async #fetchOffset(request: SessionRequest): Promise<HttpResponse> {
    const { source, deps } = this.#run;
    if (this.#isFresh) return createResponse(200, { 'upload-offset': '0', 'upload-length': `${source.sizeBytes}` });
    const response = await deps.api.transport.exchange({ method: 'HEAD', ...request });
    if (response.status >= 300) throw errorFrom(response, transferPurpose);
    return this.#acknowledge(response);
  }

  /** Sends a chunk: "PATCH {location} transfers bytes … at most 50 MiB per request." (§4) */
  async #sendChunk(request: SessionRequest, chunk: ChunkRange): Promise<HttpResponse> {
    const { deps, options } = this.#run;
    const { idleTimeoutMs } = options;
    await this.#listener.digest.catchUp(chunk.start);
    this.#isFresh = false;
    const body = { lengthBytes: chunk.size, open: () => this.#bytes(chunk, request.signal) };
    let response: ApiResponse;
    try {
      response = await deps.api.transport.exchange({ method: 'PATCH', ...request, body, idleTimeoutMs });
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

  async *#bytes({ start, end }: ChunkRange, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
    const { source, deps } = this.#run;
    const { digest } = this.#listener;
    await this.#listener.onSending(end);
    let at = start;
    const reading = { onRead: digest.update.bind(digest), assertUnchanged: digest.assertUnchanged.bind(digest) };
    for await (const block of source.read(start, end, reading))
      for await (const bytes of deps.throttle?.pace(block, signal) ?? [block]) {
        at += bytes.length;
        this.#sentThisRun = Math.max(this.#sentThisRun, at);
        yield bytes;
        this.#listener.onSent(bytes.length, at);
      }
  }

  async #acknowledge(response: ApiResponse, chunk?: ChunkRange): Promise<HttpResponse> {
    const { source } = this.#run;
    const { sizeBytes } = source;
    const offset = parseUploadOffset(response.headers['upload-offset']);
    if (offset === undefined)
      throw this.#brokenSession(`the response to ${chunk ? 'PATCH' : 'HEAD'} has no Upload-Offset`, response);
    if (offset > sizeBytes)
      throw this.#brokenSession(
        `the service reports ${offset} bytes of a file of ${sizeBytes} bytes`,
        response,
        'session_mismatch',
      );
    const sentTo = Math.max(this.#sentBefore, this.#sentThisRun);
    // The state folder might be an old backup that records too few bytes. The checksum decides at the end.
    if (offset > sentTo && this.#sentThisRun === 0 && !chunk) this.#sentBefore = offset;
    else if (offset > sentTo) {
      const problem = `the service acknowledged ${offset} bytes, but only ${sentTo} were sent`;
      throw this.#brokenSession(problem, response, 'session_mismatch');
    }
    if (chunk && offset >= chunk.end) source.releaseBuffers?.();
    // If the offset went back, reaching the same offset again does not count as progress.
    const minBytes = Math.min(minProgressBytes, chunk?.size ?? 1);
    if (offset >= Math.max(0, this.acknowledged) + minBytes) this.#stalls = 0;
    else if (chunk && (response.status === 409 || offset < chunk.start + minBytes)) this.#stalls++;
    this.acknowledged = Math.max(this.acknowledged, offset);
    if (this.#stalls >= maxStalls)
      throw this.#brokenSession(`the upload is stuck at byte ${this.acknowledged}`, response);
    this.#maybeReceived = Math.max(this.#maybeReceived, offset);
    await this.#listener.digest.catchUp(offset);
    await this.#listener.onAcknowledged(offset, response.headers);
    return createResponse(204, { ...response.headers, 'upload-length': `${sizeBytes}` });
  }

  #brokenSession(problem: string, { status }: ApiResponse, code: ErrorCode = 'broken_session'): MediactlError {
    const reason = `the upload session of asset ${this.#assetUid} violates the protocol`;
    return new MediactlError(problem, { code, status, reason });
  }
}

const createResponse = (status: number, headers: ResponseHeaders): HttpResponse => ({
  getStatus: () => status,
  getHeader: (name) => headers[name.toLowerCase()],
  getBody: () => '',
  getUnderlyingObject: () => undefined,
});
