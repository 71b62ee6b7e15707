import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { MediactlError } from '../../errors.ts';
import type { Headers } from '../../http/rate-limit.ts';
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

export type RangeOptions = {
  /** What people and the journal call it, where its address does not last. */
  label?: string;
  /** Sent with every request, to its own origin alone. */
  headers?: Record<string, string>;
  /** Ends it; without it nothing but the end of the transport does. */
  signal?: AbortSignal | undefined;
  /** Whether its server may lead there. */
  mayFollow?: ((target: URL) => boolean) | undefined;
};

const triesWithoutProgress = 4;
/** An answer that timed out with fewer bytes is no progress: a drip would keep an upload waiting forever. */
const minProgressBytes = 4096;
/** What may wait on either side of the pipe between the server and who reads. */
const aheadBytes = 1024 * 1024;

/**
 * A file on somebody's web server, read a part at a time (RFC 9110 §14). Nothing of it is kept here.
 *
 * A file is uploaded over minutes or days, over many requests, and may become another one meanwhile:
 * half of each would be an asset that nobody ever made. So a server must tell versions apart, by a
 * strong ETag or at least a Last-Modified, and every answer is compared with the first.
 */
export class RangeSource implements Source {
  readonly path: string;
  readonly realPath: string;
  readonly identity: FileIdentity;
  /** As the server calls it, else the last part of its address. */
  readonly fileName: string;
  /** Media type, where the server says more than "bytes". */
  readonly contentType: string | undefined;
  readonly #remote: Remote;
  readonly #version: Version;

  private constructor(remote: Remote, realPath: string, sizeBytes: number, headers: Headers) {
    this.#remote = remote;
    this.#version = versionIn(headers);
    this.path = remote.path;
    this.realPath = realPath;
    this.identity = identityOf(sizeBytes, this.#version);
    this.fileName = dispositionName(headers['content-disposition']) ?? fileNameOf(remote.url);
    this.contentType = mediaTypeIn(headers['content-type']);
  }

  /**
   * Asks for the first byte, which tells size and version.
   *
   * @param transport without a key: none is sent in any case
   * @throws MediactlError `usage` (2) for no address, or a server that does not serve parts, tells no
   *   length or no version; `no_such_file`, `source_refused` (2); by network failure
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
   * The bytes [start, end), as they come; a line that breaks is taken up where it broke. The server is
   * asked once more before the last buffer is handed over, so a changed file never completes a chunk.
   *
   * @throws MediactlError `file_changed` (13), `file_gone` (1), `source_refused` (2); what the network
   *   does after a few tries without a byte
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

  /** One answer's worth of [at, end). What came before a failure is handed over before it is thrown. */
  async *#part(at: number, end: number): AsyncGenerator<Buffer> {
    const left = new AbortController();
    const { signal } = this.#remote;
    const pipe = new PassThrough({ highWaterMark: aheadBytes });
    let received = 0;
    const answered = askForRange(this.#remote, at, end, {
      headers: this.#conditions,
      signal: signal ? AbortSignal.any([signal, left.signal]) : left.signal,
      retry: 'pacing',
      sink: async (part, answer) => {
        if (received === 0) this.#assertPart(answer, at, end);
        received += part.length;
        if (at + received > end) throw otherRange(this.#remote);
        if (!pipe.write(part)) await once(pipe, 'drain', { signal: left.signal });
      },
    })
      .then((answer) => {
        if (answer.status > 299) throw refusalOf(this.#remote, answer, () => this.#lost(answer));
        this.#assertPart(answer, at, end); // where no byte came, nothing has looked yet
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

  /** @throws MediactlError `file_changed` where the server has another version, `file_gone` for none */
  async assertUnchanged(): Promise<void> {
    const answer = await firstByte(this.#remote, this.#conditions);
    const sizeBytes = sizeIn(answer);
    if (this.sizeBytes === 0 && sizeBytes === 0) return;
    if (sizeBytes === undefined || answer.status === 416)
      throw refusalOf(this.#remote, answer, () => this.#lost(answer));
    this.#assertPart(answer, 0, 1);
  }

  /** Nothing is open between two readings. */
  async close(): Promise<void> {}

  /** A server that heeds them sends no byte of another version. */
  get #conditions(): Record<string, string> {
    const { etag, modified } = this.#version;
    if (etag !== undefined) return { 'if-match': etag };
    return modified === undefined ? {} : { 'if-unmodified-since': modified };
  }

  /** Not every server heeds conditions: what it sent must be of this version, and what was asked for. */
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

  /** Of a refusal, what it says of the file; undefined where it says nothing. */
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
  // Two, so that the end of an answer of one is read and its connection kept.
  askForRange(remote, 0, 1, { headers, retry: 'reads', maxBodyBytes: 2 });
