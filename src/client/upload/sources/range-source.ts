import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import type { CodedError } from '../../errors.ts';
import type { ReceivedResponse, ResponseHead } from '../../http/api-request.ts';
import { isRetryable } from '../../http/error-response.ts';
import type { ResponseHeaders } from '../../http/rate-limit-headers.ts';
import type { Transport } from '../../http/transport.ts';
import type { FileIdentity } from './file-identity.ts';
import {
  assertNoErrorPage,
  type ContentVersion,
  isEncoded,
  parseMediaType,
  parseSize,
  parseVersion,
  type RemoteFile,
  rangeMismatch,
  requestRange,
  sourceNotReadable,
  sourceTruncated,
  toSourceError,
  unknownVersion,
} from './range-request.ts';
import { fileChanged, fileGone, type ReadOptions, type UploadSource } from './source.ts';
import { fileNameOf, parseDispositionName, parseSourceUrl } from './source-url.ts';

export type RangeOptions = {
  /** Path to show and store instead of a temporary URL. */
  path?: string;
  /** Headers to send with every request, but only to the URL's own origin. */
  headers?: Record<string, string>;
  /** Aborts the requests. Without it, only closing the transport aborts them. */
  signal?: AbortSignal | undefined;
  mayFollow?: ((target: URL) => boolean) | undefined;
  /** Checks the original of a file that the server only passes on, in place of the server's own version of it. */
  checkOriginal?: (() => Promise<void>) | undefined;
};

const maxTriesWithoutProgress = 4;
/** Minimum bytes before a timeout that count as progress, so that a slow-drip server cannot stall an upload. */
const minProgressBytes = 4096;
/** Maximum bytes buffered between the server and the reader before back-pressure sets in. */
const maxBufferedBytes = 1024 * 1024;

/**
 * Reads a file from a web server with range requests (RFC 9110 §14), without storing it locally. If the file changed
 * during the upload, the asset would mix two versions. The server must therefore send a strong ETag or at least
 * Last-Modified, and every response is compared with the first one.
 */
export class RangeSource implements UploadSource {
  readonly path: string;
  readonly realPath: string;
  identity: FileIdentity;
  /** File name from Content-Disposition, otherwise from the URL. */
  readonly fileName: string;
  /** Media type; undefined if the server does not send a specific one. */
  readonly contentType: string | undefined;
  readonly #remote: RemoteFile;
  readonly #version: ContentVersion;
  #checkOriginal: RangeOptions['checkOriginal'];

  private constructor(remote: RemoteFile, realPath: string, sizeBytes: number, headers: ResponseHeaders) {
    this.#version = parseVersion(headers);
    const { etag, modified } = this.#version;
    const mtimeNs = modified === undefined ? '0' : String(BigInt(Date.parse(modified)) * 1_000_000n);
    this.#remote = remote;
    this.path = remote.path;
    this.realPath = realPath;
    this.identity = { sizeBytes, mtimeNs, ...(etag !== undefined && { validator: etag }) };
    this.fileName = nameOf(remote, headers);
    this.contentType = parseMediaType(headers['content-type']);
  }

  /**
   * @param transport transport without an API key; none is sent in any case
   * @throws CodedError `usage` (exit 2) if the URL is invalid, or if the server does not support ranges or sends
   *   no length or version; `file_unusable` (exit 2), `source_failed` (exit 10), also if it sends a web page; network errors
   */
  static async open(address: string, transport: Transport, options: RangeOptions = {}): Promise<RangeSource> {
    const { path, headers, signal, mayFollow, checkOriginal } = options;
    const parsed = parseSourceUrl(address);
    const remote = {
      transport,
      signal,
      mayFollow,
      url: parsed.url,
      path: path ?? parsed.path,
      headers: { ...parsed.headers, ...headers },
    };
    const response = await requestFirstByte(remote);
    // A server that only passes the file on has guessed its type from the bytes.
    if (!checkOriginal) assertNoErrorPage(remote, nameOf(remote, response.headers), response);
    const sizeBytes = parseSize(response);
    if (sizeBytes === undefined) throw toSourceError(remote, response);
    if (typeof sizeBytes === 'string') throw sourceNotReadable(remote, sizeBytes);
    const source = new RangeSource(remote, path ?? parsed.realPath, sizeBytes, response.headers);
    const { etag, modified } = source.#version;
    if (sizeBytes > 0 && etag === undefined && modified === undefined)
      throw sourceNotReadable(remote, unknownVersion(response.headers));
    source.#checkOriginal = checkOriginal;
    return source;
  }

  get sizeBytes(): number {
    return this.identity.sizeBytes;
  }

  /**
   * Yields the bytes [start, end) as they arrive, and resumes after a dropped connection. Before the last buffer it
   * checks the version, so a changed file never completes a chunk.
   *
   * @throws CodedError `file_changed` (exit 13), `file_unusable` (exit 2), `source_failed` (exit 10); a network
   *   error after a few retries without progress
   */
  async *read(
    start: number,
    end: number,
    { onRead = () => {}, assertUnchanged = () => this.assertUnchanged() }: ReadOptions = {},
  ): AsyncGenerator<Buffer> {
    let at = start;
    for await (const bytes of this.#readWithRetry(start, end)) {
      onRead(at, bytes);
      at += bytes.length;
      if (at >= end) await assertUnchanged();
      yield bytes;
    }
  }

  /** Reads with retries. Does not use `retryUntil`, which cannot yield the bytes of a failed attempt. */
  async *#readWithRetry(start: number, end: number): AsyncGenerator<Buffer> {
    let at = start;
    for (let tries = 0; at < end; tries++) {
      const from = at;
      let failure = sourceTruncated(this.#remote, at);
      try {
        for await (const bytes of this.#requestPart(at, end)) {
          at += bytes.length;
          yield bytes;
        }
        if (at >= end) return;
      } catch (error) {
        if (!isRetryable(error)) throw error;
        failure = error;
      }
      const minBytes = failure.explanation.code === 'timeout' ? minProgressBytes : 1;
      if (at - from >= minBytes) tries = 0;
      if (tries + 1 >= maxTriesWithoutProgress) {
        await this.#checkOriginal?.(); // a server that only passes it on does not tell why it fails
        throw failure;
      }
      await this.#remote.transport.waitBeforeRetry(tries, failure, this.#remote.signal);
    }
  }

  /** Requests [at, end) once and yields the bytes of the response, including those received before a failure. */
  async *#requestPart(at: number, end: number): AsyncGenerator<Buffer> {
    const abandoned = new AbortController();
    const { signal } = this.#remote;
    const pipe = new PassThrough({ highWaterMark: maxBufferedBytes });
    let received = 0;
    const request = requestRange(this.#remote, at, end, {
      headers: this.#conditionalHeaders,
      signal: signal ? AbortSignal.any([signal, abandoned.signal]) : abandoned.signal,
      retry: 'rate-limit',
      sink: async (part, answer) => {
        if (received === 0) this.#assertPart(answer, at, end);
        received += part.length;
        if (at + received > end) throw rangeMismatch(this.#remote);
        if (!pipe.write(part)) await once(pipe, 'drain', { signal: abandoned.signal });
      },
    })
      .then((answer) => {
        if (answer.status > 299) throw this.#errorOf(answer);
        this.#assertPart(answer, at, end); // an empty body has not been checked by `sink`
      })
      .finally(() => pipe.end());
    request.catch(() => {}); // awaited below, unless the consumer leaves first
    try {
      for await (const bytes of pipe) yield bytes;
      await request;
    } finally {
      abandoned.abort();
    }
  }

  /** Checks the version with a new request. @throws CodedError `file_changed` (exit 13), `file_unusable` (exit 2) */
  async assertUnchanged(): Promise<void> {
    if (this.#checkOriginal) return this.#checkOriginal();
    const answer = await requestFirstByte(this.#remote, this.#conditionalHeaders);
    const sizeBytes = parseSize(answer);
    if (this.sizeBytes === 0 && sizeBytes === 0) return;
    if (sizeBytes === undefined || answer.status === 416) throw this.#errorOf(answer);
    this.#assertPart(answer, 0, 1);
  }

  /** Does nothing, because no connection stays open between two reads. */
  async close(): Promise<void> {}

  /** Conditional headers that prevent mixing two versions: If-Match, or If-Unmodified-Since if there is no ETag. */
  get #conditionalHeaders(): Record<string, string> {
    const { etag, modified } = this.#version;
    if (etag !== undefined) return { 'if-match': etag };
    return modified === undefined ? {} : { 'if-unmodified-since': modified };
  }

  /** Checks the version and range of a response, because not every server evaluates conditional headers. */
  #assertPart(head: ResponseHead, at: number, end: number): void {
    const { status, headers } = head;
    if (!this.#checkOriginal) assertNoErrorPage(this.#remote, this.fileName, head);
    if (status !== 206) throw fileChanged(this.path, 'the server returned the whole file instead of the rest');
    const [, first, last, total] = /^bytes (\d+)-(\d+)\/(\d+|\*)$/.exec(headers['content-range'] ?? '') ?? [];
    if (total !== '*' && total !== undefined && Number(total) !== this.sizeBytes)
      throw fileChanged(this.path, `its size changed from ${this.sizeBytes} to ${total} bytes`);
    const { etag, modified } = parseVersion(headers);
    const isSame = this.#version.etag === undefined ? modified === this.#version.modified : etag === this.#version.etag;
    if (!isSame) throw fileChanged(this.path, 'the server has a different version of it');
    if (isEncoded(headers) || Number(first) !== at || !(Number(last) < end)) throw rangeMismatch(this.#remote);
  }

  #errorOf(answer: ReceivedResponse): CodedError {
    const { status } = answer;
    if (status === 404 || status === 410) return fileGone(this.path);
    if (status === 412) return fileChanged(this.path, 'the server has a different version of it');
    return status === 416 ? fileChanged(this.path, 'it was truncated') : toSourceError(this.#remote, answer);
  }
}

const nameOf = ({ url }: RemoteFile, headers: ResponseHeaders) =>
  parseDispositionName(headers['content-disposition']) ?? fileNameOf(url);

const requestFirstByte = (remote: RemoteFile, headers: Record<string, string> = {}) =>
  // With a limit of 2 bytes, the end of a 1-byte body is read too, which keeps the connection alive.
  requestRange(remote, 0, 1, { headers, retry: 'reads', maxBodyBytes: 2 });
