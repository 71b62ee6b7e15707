import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { MediactlError } from '../../errors.ts';
import type { ResponseHeaders } from '../../http/rate-limit-headers.ts';
import type { Transport } from '../../http/transport.ts';
import {
  type Answer,
  identityOf,
  isEncoded,
  mediaTypeIn,
  sizeIn,
  type Version,
  versionIn,
} from './range-answer.ts';
import {
  askForRange,
  fellShort,
  notToBeRead,
  otherRange,
  type Remote,
  refusalOf,
} from './range-request.ts';
import { changed, type FileIdentity, gone, type Reading, type Source } from './source.ts';
import { dispositionName, fileNameOf, readAddress } from './source-address.ts';

/** Options of `RangeSource.open`. */
export type RangeOptions = {
  /** Name for the user and the journal if the URL is temporary. */
  label?: string;
  /** Headers of every request, sent to the URL's own origin only. */
  headers?: Record<string, string>;
  /** Aborts the requests; by default only the transport's end does. */
  signal?: AbortSignal | undefined;
  /** Returns true if a redirect to that URL may be followed. */
  mayFollow?: ((target: URL) => boolean) | undefined;
};

const triesWithoutProgress = 4;
/** Minimum bytes before a timeout that count as progress: else a slow-drip server could stall an upload forever. */
const minProgressBytes = 4096;
/** Maximum bytes buffered between the server and the reader before back-pressure. */
const aheadBytes = 1024 * 1024;

/**
 * Reads a file from a web server by range requests (RFC 9110 §14), without storing it locally.
 *
 * An upload may take days and many requests, and the file may change meanwhile: the asset would mix two
 * versions. So the server must send a strong ETag or at least a Last-Modified, and every response is
 * compared with the first one.
 */
export class RangeSource implements Source {
  readonly path: string;
  readonly realPath: string;
  readonly identity: FileIdentity;
  /** File name from Content-Disposition, else the last part of the URL. */
  readonly fileName: string;
  /** Media type, if the server sends a specific one. */
  readonly contentType: string | undefined;
  readonly #remote: Remote;
  readonly #version: Version;

  private constructor(
    remote: Remote,
    realPath: string,
    sizeBytes: number,
    headers: ResponseHeaders,
  ) {
    this.#remote = remote;
    this.#version = versionIn(headers);
    this.path = remote.path;
    this.realPath = realPath;
    this.identity = identityOf(sizeBytes, this.#version);
    this.fileName = dispositionName(headers['content-disposition']) ?? fileNameOf(remote.url);
    this.contentType = mediaTypeIn(headers['content-type']);
  }

  /**
   * Opens a URL by requesting its first byte, whose response contains size and version.
   *
   * @param transport transport without an API key; none is sent in any case
   * @throws MediactlError `usage` (2) for an invalid URL, or a server that does not support ranges or sends no
   *   length or version; `no_such_file`, `source_refused` (2); network errors
   */
  static async open(
    address: string,
    transport: Transport,
    { label, headers, signal, mayFollow }: RangeOptions = {},
  ): Promise<RangeSource> {
    const read = readAddress(address);
    const path = label ?? read.path;
    const remote = {
      ...{ transport, signal, path, mayFollow, url: read.url },
      headers: { ...read.headers, ...headers },
    };
    const answer = await firstByte(remote);
    const sizeBytes = sizeIn(answer);
    if (sizeBytes === undefined) throw refusalOf(remote, answer);
    if (typeof sizeBytes === 'string') throw notToBeRead(remote, sizeBytes);
    const { etag, modified } = versionIn(answer.headers);
    if (sizeBytes > 0 && etag === undefined && modified === undefined)
      throw notToBeRead(remote, 'its server does not tell one version of it from another');
    return new RangeSource(remote, label ?? read.realPath, sizeBytes, answer.headers);
  }

  get sizeBytes(): number {
    return this.identity.sizeBytes;
  }

  /**
   * Yields the bytes [start, end) as they arrive and resumes after a dropped connection. Before the last buffer
   * it asks the server again, so a changed file never completes a chunk.
   *
   * @throws MediactlError `file_changed` (13), `file_gone` (1), `source_refused` (2); a network error after a
   *   few retries without progress
   */
  async *read(
    start: number,
    end: number,
    { onRead = () => {}, assertUnchanged = () => this.assertUnchanged() }: Reading = {},
  ): AsyncGenerator<Buffer> {
    let at = start;
    for await (const bytes of this.#resuming(start, end)) {
      onRead(at, bytes);
      at += bytes.length;
      if (at >= end) await assertUnchanged();
      yield bytes;
    }
  }

  async *#resuming(start: number, end: number): AsyncGenerator<Buffer> {
    const { transport, signal } = this.#remote;
    let at = start;
    for (let tries = 0; at < end; tries++) {
      const from = at;
      let failure = fellShort(this.#remote, at);
      try {
        for await (const bytes of this.#part(at, end)) {
          at += bytes.length;
          yield bytes;
        }
        if (at >= end) return;
      } catch (error) {
        if (!(error instanceof MediactlError) || !error.explanation.retryable) throw error;
        failure = error;
      }
      const least = failure.explanation.code === 'timeout' ? minProgressBytes : 1;
      if (at - from >= least) tries = 0;
      if (tries + 1 >= triesWithoutProgress) throw failure;
      await transport.waitBeforeRetry(tries, failure, signal);
    }
  }

  /** Requests [at, end) once and yields the response's bytes. Bytes received before a failure are still yielded. */
  async *#part(at: number, end: number): AsyncGenerator<Buffer> {
    const left = new AbortController();
    const { signal } = this.#remote;
    const pipe = new PassThrough({ highWaterMark: aheadBytes });
    let received = 0;
    const answered = askForRange(this.#remote, at, end, {
      headers: this.#conditions,
      signal: signal ? AbortSignal.any([signal, left.signal]) : left.signal,
      retry: 'rate-limit',
      sink: async (part, answer) => {
        if (received === 0) this.#assertPart(answer, at, end);
        received += part.length;
        if (at + received > end) throw otherRange(this.#remote);
        if (!pipe.write(part)) await once(pipe, 'drain', { signal: left.signal });
      },
    })
      .then((answer) => {
        if (answer.status > 299) throw refusalOf(this.#remote, answer, () => this.#lost(answer));
        this.#assertPart(answer, at, end); // an empty body has not been checked by `sink`
      })
      .finally(() => pipe.end());
    answered.catch(() => {}); // awaited below, unless the consumer leaves first
    try {
      for await (const bytes of pipe) yield bytes;
      await answered;
    } finally {
      left.abort();
    }
  }

  /** Asks the server again. @throws MediactlError `file_changed` if it has another version, `file_gone` if none */
  async assertUnchanged(): Promise<void> {
    const answer = await firstByte(this.#remote, this.#conditions);
    const sizeBytes = sizeIn(answer);
    if (this.sizeBytes === 0 && sizeBytes === 0) return;
    if (sizeBytes === undefined || answer.status === 416)
      throw refusalOf(this.#remote, answer, () => this.#lost(answer));
    this.#assertPart(answer, 0, 1);
  }

  /** Does nothing: no connection is open between two reads. */
  async close(): Promise<void> {}

  /** Conditional headers that prevent mixing two versions: If-Match, or If-Unmodified-Since without an ETag. */
  get #conditions(): Record<string, string> {
    const { etag, modified } = this.#version;
    if (etag !== undefined) return { 'if-match': etag };
    return modified === undefined ? {} : { 'if-unmodified-since': modified };
  }

  /** Checks version and range of a response, because not every server evaluates conditional headers. */
  #assertPart({ status, headers }: Answer, at: number, end: number): void {
    if (status !== 206) throw this.#changed('the server sent it from its beginning');
    const [, first, last, total] =
      /^bytes (\d+)-(\d+)\/(\d+|\*)$/.exec(headers['content-range'] ?? '') ?? [];
    if (total !== '*' && total !== undefined && Number(total) !== this.sizeBytes)
      throw this.#changed(`its size went from ${this.sizeBytes} to ${total} bytes`);
    const { etag, modified } = versionIn(headers);
    const isSame =
      this.#version.etag === undefined
        ? modified === this.#version.modified
        : etag === this.#version.etag;
    if (!isSame) throw this.#changed('the server has another version of it');
    if (isEncoded(headers) || Number(first) !== at || !(Number(last) < end))
      throw otherRange(this.#remote);
  }

  /** Converts an error status that means a deleted or changed file; undefined for any other status. */
  #lost({ status }: Answer): MediactlError | undefined {
    if (status === 404 || status === 410) return gone(this.path);
    if (status === 412) return this.#changed('the server has another version of it');
    return status === 416 ? this.#changed('it became shorter') : undefined;
  }

  #changed(reason: string): MediactlError {
    return changed(this.path, reason).with({
      hint: 'once it no longer changes, the same command with --again, which makes a new asset',
    });
  }
}

const firstByte = (remote: Remote, headers: Record<string, string> = {}) =>
  // Limit of 2 bytes: the end of a 1-byte body is then read, which keeps the connection alive.
  askForRange(remote, 0, 1, { headers, retry: 'reads', maxBodyBytes: 2 });
