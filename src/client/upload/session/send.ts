import type { HttpRequest, HttpResponse, HttpStack } from 'tus-js-client';
import { parseUploadOffset } from '../../../contract/tus.ts';
import { retryUntil } from '../../../shared/retry.ts';
import { transferPurpose } from '../../api/upload-sessions.ts';
import type { ErrorCode } from '../../error-table.ts';
import { CodedError } from '../../errors.ts';
import type { ApiRequest, ReceivedResponse } from '../../http/api-request.ts';
import { errorFrom, isGone, isRetryable, isUnanswered } from '../../http/error-response.ts';
import type { ResponseHeaders } from '../../http/rate-limit-headers.ts';
import { PrefixDigest } from '../sources/checksum.ts';
import type { CompleteEntry, OpenEntry } from '../store/upload-entry.ts';
import type { UploadRun } from './upload-run.ts';
import { compareChecksum, completeEntry, type Verdict } from './verify.ts';

/**
 * Number of consecutive failures without progress, such as a newly acknowledged byte, after which an upload fails. What
 * fails since the service cannot be reached is no try: an outage is waited out.
 */
export const maxTries = 10;
/** Number of consecutive responses without progress after which the upload fails as stalled. */
const maxStalls = 5;
/** Minimum number of new bytes that count as progress, since one byte per request would use up the rate limit. */
const minProgressBytes = 1024;
const progressIntervalMs = 1_000;

/** Error for an upload whose session the service does not know. */
export class SessionGoneError extends Error {
  readonly underlying: CodedError;
  /** True if the session responded earlier in this run. */
  readonly hasResponded: boolean;
  /** True if every byte of the file might have arrived, since no response proves the contrary. */
  readonly mayBeWhole: boolean;

  constructor(underlying: CodedError, { acknowledged, mayBeWhole }: Sender) {
    super('the upload session is gone');
    this.underlying = underlying;
    this.hasResponded = acknowledged >= 0;
    this.mayBeWhole = mayBeWhole;
  }
}

/**
 * Sends bytes to a session until all are acknowledged. Retries with backoff after dropped connections and 5xx.
 *
 * @throws SessionGoneError if the service does not know the session
 * @throws CodedError if retries cannot help or are used up, and the session can be resumed later; `file_changed`
 *   (exit 13) if the file changed since the upload started
 */
export async function send(run: UploadRun, entry: OpenEntry): Promise<CompleteEntry> {
  const { signal, api } = run.deps;
  const { clock } = api.transport;
  const digest = await PrefixDigest.open(run.source, entry.prefix);
  const sender = new Sender(run, entry, digest);
  if (run.resumedFrom !== null && entry.prefix) run.emit({ event: 'verifying', offset_bytes: entry.prefix.offset });
  let acknowledged = -1;
  let failures = 0;
  let outageFailures = 0;
  let answers = 0;
  await retryUntil(signal, () => runTus(run, entry.session.url, sender), {
    clock,
    delayAfter: async (error) => {
      if (isGone(error)) throw new SessionGoneError(error, sender);
      if (!isRetryable(error) || error === sender.storeError) return undefined;
      const isAway = isUnanswered(error) && sender.answers === answers;
      if (isAway) return api.transport.waitOutOutage(outageFailures++, error, signal).then(() => 0);
      outageFailures = 0;
      failures = sender.acknowledged > acknowledged ? 1 : failures + 1;
      ({ acknowledged, answers } = sender);
      return failures < maxTries ? api.transport.waitBeforeRetry(failures - 1, error, signal).then(() => 0) : undefined;
    },
  });
  // A source that was read to its end has already checked that the file is unchanged.
  if (sender.readTo === 0 || sender.readTo < run.source.sizeBytes) await digest.assertUnchanged();
  await digest.catchUp(run.source.sizeBytes);
  return completeEntry(run, entry, { ...sender.sent, blake3: digest.current().blake3 });
}

/** Runs tus-js-client once. It sends HEAD, then PATCH requests until all bytes are sent or a request fails. */
async function runTus({ source, options, deps }: UploadRun, uploadUrl: string, httpStack: HttpStack): Promise<void> {
  const { TusUpload } = await import('./tus.lazy.ts');
  const { signal } = deps;
  let onAbort = () => {};
  await new Promise<void>((resolve, reject) => {
    // tus-js-client only passes the source to our file reader, which ignores it.
    const upload = new TusUpload(source as unknown as Buffer, {
      ...TusUpload.defaultOptions,
      // Without the `endpoint` option, tus-js-client can never create a second asset.
      uploadUrl,
      chunkSize: options.chunkBytes,
      retryDelays: null,
      storeFingerprintForResuming: false,
      fingerprint: async () => '',
      httpStack,
      fileReader: {
        openFile: async () => ({
          size: source.sizeBytes,
          slice: async (start: number, end: number) => ({
            value: { start, end, size: end - start } satisfies Chunk,
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
      reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    upload.start();
  }).finally(() => signal.removeEventListener('abort', onAbort));
}

/** Chunk that our file reader passes to tus-js-client. It is a byte range and does not hold the bytes. */
type Chunk = { start: number; end: number; size: number };

type SessionRequest = Omit<ApiRequest, 'method'> & { url: string };

/**
 * HTTP stack for tus-js-client that uses our transport, for one upload session (§4), and records its progress. Unlike
 * the default stack, it skips the HEAD request for a new session, accepts a HEAD response without `Upload-Length`,
 * waits after a 429 response, and resumes at the offset in a 409 response.
 */
class Sender implements HttpStack {
  readonly #run: UploadRun;
  readonly #entry: OpenEntry;
  readonly #digest: PrefixDigest;
  /** True if this run created the session. */
  readonly #isNew: boolean;
  /** Highest offset that the service has confirmed in this run; -1 before its first response. */
  acknowledged = -1;
  /** Number of answers of the service that have an offset. */
  answers = 0;
  /** Highest offset up to which this run has read the file and written it to a socket. */
  readTo = 0;
  /** True if the service might have every byte: the last were sent, and no response of its own proves the contrary. */
  mayBeWhole: boolean;
  #stalls = 0;
  /** Write of the entry after the chunk before. The next chunk is sent meanwhile, unless it is the last. */
  #lastWrite = Promise.resolve();
  /** Error of a failed write of the entry. It ends the upload. */
  storeError: unknown;
  /** Time of the last record of the progress, in milliseconds since the epoch. */
  #progressSavedAt: number;
  readonly sent: { verdict: Verdict; lastChunkStart: number };

  constructor(run: UploadRun, entry: OpenEntry, digest: PrefixDigest) {
    this.#run = run;
    this.#entry = entry;
    this.#digest = digest;
    this.#isNew = run.resumedFrom === null;
    // Until the session responds in this run, the bytes sent by an earlier run count.
    this.mayBeWhole = !this.#isNew && entry.mayBeWhole;
    this.sent = { verdict: { verified: null }, lastChunkStart: entry.offset };
    this.#progressSavedAt = run.deps.api.transport.clock.now();
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
      send: (chunk: Chunk | null) =>
        method === 'HEAD' || !chunk ? this.#fetchOffset(request) : this.#sendChunk(request, chunk),
      abort: async () => {}, // only `runTus` aborts, with the signal that each request has
      getUnderlyingObject: () => undefined,
    };
  }

  /** Fetches the offset: "HEAD {location} … returns the current Upload-Offset, from which a client resumes." (§4) */
  async #fetchOffset(request: SessionRequest): Promise<HttpResponse> {
    const isUntouched = this.#isNew && this.readTo === 0 && this.acknowledged < 0;
    if (isUntouched) return this.#toResponse({ 'upload-offset': '0' });
    const response = await this.#run.deps.api.transport.exchange({ method: 'HEAD', ...request });
    if (response.status >= 300) throw errorFrom(response, transferPurpose);
    return this.#acknowledge(response);
  }

  /** Sends a chunk: "PATCH {location} transfers bytes … at most 50 MiB per request." (§4) */
  async #sendChunk(request: SessionRequest, chunk: Chunk): Promise<HttpResponse> {
    const { source, deps, options } = this.#run;
    const { idleTimeoutMs } = options;
    const body = { lengthBytes: chunk.size, open: () => this.#bytes(chunk, request.signal) };
    const noteAllSent = () => {
      this.mayBeWhole ||= this.readTo === source.sizeBytes;
    };
    let response: ReceivedResponse;
    try {
      response = await deps.api.transport.exchange({ method: 'PATCH', ...request, body, idleTimeoutMs });
    } catch (error) {
      noteAllSent();
      throw error;
    }
    // A gateway might have sent this response although the service received every byte.
    if (response.status >= 500 || response.status === 408) noteAllSent();
    // "409 means the sent Upload-Offset differs from the server's; the response header
    // Upload-Offset holds the correct one." (§4)
    if (response.status !== 409 && response.status >= 300) throw errorFrom(response, transferPurpose);
    return this.#acknowledge(response, chunk);
  }

  async *#bytes({ start, end }: Chunk, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
    const { source, deps } = this.#run;
    const digest = this.#digest;
    let at = start;
    const reading = { onRead: digest.update.bind(digest), assertUnchanged: digest.assertUnchanged.bind(digest) };
    for await (const block of source.read(start, end, reading))
      for await (const bytes of deps.throttle?.(block, signal) ?? [block]) {
        at += bytes.length;
        this.readTo = Math.max(this.readTo, at);
        yield bytes;
        this.#run.bytesSent += bytes.length;
        this.#showProgress(at);
      }
  }

  /** Records an offset that the service confirms. @throws CodedError if the entry could not be written */
  async #acknowledge(response: ReceivedResponse, chunk?: Chunk): Promise<HttpResponse> {
    const { source, options, store } = this.#run;
    const { sizeBytes } = source;
    const entry = this.#entry;
    const offset = this.#parseOffset(response, chunk);
    if (chunk && offset >= chunk.end) source.releaseBuffers?.();
    this.answers++;
    const isFirst = this.acknowledged < 0;
    this.#countStalls(offset, response, chunk);
    await this.#digest.catchUp(offset);
    if (isFirst && !this.#isNew) this.#onResumed(offset);
    entry.offset = offset;
    const prefix = this.#digest.current();
    if (prefix.offset === offset) entry.prefix = prefix;
    await this.#lastWrite;
    if (offset === sizeBytes) {
      this.mayBeWhole = true;
      const { lastChunkStart } = this.sent;
      this.sent.verdict = await compareChecksum(source, prefix.blake3, lastChunkStart, response.headers);
    } else {
      this.sent.lastChunkStart = offset;
      // Recorded before the last chunk is sent, even for a power failure, since the service might then have the
      // complete file. The offset need not outlive one: the service knows it better.
      const isLastChunk = offset + options.chunkBytes >= sizeBytes && !entry.mayBeWhole;
      entry.mayBeWhole ||= isLastChunk;
      this.#lastWrite = store.write(entry, isLastChunk);
      this.#lastWrite.catch((error) => {
        this.storeError = error; // thrown by the `await` above, after the next chunk
      });
      if (isLastChunk) await this.#lastWrite;
    }
    this.#emitProgress(offset);
    return this.#toResponse(response.headers);
  }

  #parseOffset(response: ReceivedResponse, chunk: Chunk | undefined): number {
    const { sizeBytes } = this.#run.source;
    const header = response.headers['upload-offset'];
    const offset = parseUploadOffset(header);
    if (offset === undefined) {
      const what =
        header === undefined ? 'no Upload-Offset' : `an Upload-Offset that is no number: ${header.slice(0, 40)}`;
      throw this.#brokenSession(`the response to ${chunk ? 'PATCH' : 'HEAD'} has ${what}`, response);
    }
    // An earlier run might have sent more than its entry says. The checksum decides at the end.
    const isUnsent = this.#isNew && offset > this.readTo;
    if (offset > sizeBytes || isUnsent)
      throw this.#brokenSession(
        offset > sizeBytes
          ? `the service reports ${offset} bytes of a file of ${sizeBytes} bytes`
          : `the service acknowledged ${offset} bytes, but only ${this.readTo} were sent`,
        response,
        'session_mismatch',
      );
    return offset;
  }

  /** Counts responses without progress. @throws CodedError `session_broken` (exit 10) after too many */
  #countStalls(offset: number, response: ReceivedResponse, chunk: Chunk | undefined): void {
    // If the offset went back, reaching the same offset again does not count as progress.
    const minBytes = Math.min(minProgressBytes, chunk?.size ?? 1);
    if (offset >= Math.max(0, this.acknowledged) + minBytes) this.#stalls = 0;
    else if (chunk && (response.status === 409 || offset < chunk.start + minBytes)) this.#stalls++;
    this.acknowledged = Math.max(this.acknowledged, offset);
    if (this.#stalls >= maxStalls)
      throw this.#brokenSession(`the upload is stuck at byte ${this.acknowledged}`, response);
  }

  #onResumed(offset: number): void {
    const run = this.#run;
    const { assetUid: asset_uid, uid: session_uid } = this.#entry.session;
    this.mayBeWhole = false;
    this.#entry.file = run.source.identity;
    run.resumedFrom = offset;
    run.emit({ event: 'resumed', asset_uid, session_uid, offset_bytes: offset });
  }

  /** @param at offset up to which bytes were written to the socket */
  #showProgress(at: number): void {
    const { store, id, deps } = this.#run;
    const now = deps.api.transport.clock.now();
    if (store.saveProgress && now - this.#progressSavedAt >= progressIntervalMs) {
      this.#progressSavedAt = now;
      // Only for display. If the store fails, the next write of the entry ends the upload.
      store.saveProgress(id, at).catch(() => {});
    }
    this.#emitProgress(at);
  }

  #emitProgress(at: number): void {
    const { offset } = this.#entry;
    const size_bytes = this.#run.source.sizeBytes;
    this.#run.emit({ event: 'progress', offset_bytes: offset, bytes_sent: Math.max(at, offset), size_bytes });
  }

  #brokenSession(problem: string, { status }: ReceivedResponse, code: ErrorCode = 'session_broken'): CodedError {
    const reason = `the upload session of asset ${this.#entry.session.assetUid} violates the protocol`;
    return new CodedError(problem, { code, status, reason });
  }

  #toResponse(headers: ResponseHeaders): HttpResponse {
    const all: ResponseHeaders = { ...headers, 'upload-length': `${this.#run.source.sizeBytes}` };
    return {
      getStatus: () => 204,
      getHeader: (name) => all[name.toLowerCase()],
      getBody: () => '',
      getUnderlyingObject: () => undefined,
    };
  }
}
