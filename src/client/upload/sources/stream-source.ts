import { MediactlError } from '../../errors.ts';
import type { FileIdentity, ReadOptions, UploadSource } from './source.ts';
import { untilAborted } from './spool.ts';

export type StreamOptions = {
  /** Length of the stream, given with `--stdin-size`. */
  sizeBytes: number;
  /** Size of an upload chunk, which stays buffered for a retry. */
  chunkBytes: number;
  realPath: string;
  signal?: AbortSignal | undefined;
};

/** Input stream. It is destroyed on close if possible, because an open pipe would keep the process running. */
type StreamInput = AsyncIterable<Buffer | string> & { destroy?: () => unknown };

/**
 * Reads stdin of known length without spooling it to disk. It can only be read forward. The current chunk stays
 * buffered in memory for a retry. A read from a later offset frees the bytes before that offset.
 */
export class StreamSource implements UploadSource {
  readonly path = '-';
  readonly realPath: string;
  readonly identity: FileIdentity;
  readonly #chunkBytes: number;
  readonly #input: StreamInput;
  readonly #signal: AbortSignal | undefined;
  readonly #pieces: AsyncIterator<Buffer | string>;
  /** The buffered bytes with their offsets, in order. They are never overwritten, since a socket might still read them. */
  readonly #buffers: { at: number; bytes: Buffer }[] = [];
  /** Start of the bytes that are kept; earlier ones in the first buffer are not. */
  #bufferStart = 0;
  #bufferEnd = 0;
  #isEnded = false;
  #isTooLong = false;
  /** Pending read of the input, shared because an abandoned read might still be waiting for the same data. */
  #pulling: Promise<void> | undefined;

  constructor(input: StreamInput, { sizeBytes, chunkBytes, realPath, signal }: StreamOptions) {
    this.realPath = realPath;
    this.identity = { sizeBytes, mtimeNs: '0' };
    this.#chunkBytes = chunkBytes;
    this.#input = input;
    this.#signal = signal;
    this.#pieces = untilAborted(input, signal);
  }

  get sizeBytes(): number {
    return this.identity.sizeBytes;
  }

  /**
   * Yields the bytes [start, end) as they arrive. A range longer than a chunk is not buffered for a retry.
   *
   * @throws MediactlError `file_missing` (exit 1) if `start` is before the buffered bytes; `stdin_size_differs` (exit 2)
   *   if the stream is shorter or longer than its size; the signal's reason if it aborts
   */
  async *read(start: number, end: number, { onRead = () => {} }: ReadOptions = {}): AsyncGenerator<Buffer> {
    const isChunk = end - start <= this.#chunkBytes;
    for (let at = start; at < end; ) {
      if (at < this.#bufferStart) throw streamGone(at, this.#bufferStart);
      const keepFrom = isChunk ? start : at;
      this.#freeBefore(keepFrom);
      while (this.#bufferEnd <= at) {
        this.#signal?.throwIfAborted();
        if (this.#isEnded) throw sizeDiffers(`stdin ended after ${this.#bufferEnd} of ${this.sizeBytes} bytes`, 'less');
        await this.#pull();
        this.#freeBefore(keepFrom);
      }
      const buffer = this.#buffers.findLast((each) => each.at <= at) as { at: number; bytes: Buffer };
      const bytes = buffer.bytes.subarray(at - buffer.at, end - buffer.at);
      onRead(at, bytes);
      at += bytes.length;
      if (at >= this.sizeBytes) await this.#assertEnds();
      yield bytes;
    }
  }

  /** Does nothing, because bytes that were read cannot change. */
  async assertUnchanged(): Promise<void> {}

  async close(): Promise<void> {
    this.#freeBefore(this.#bufferEnd);
    this.#input.destroy?.();
  }

  /** Checks, before the last bytes are sent, that no more follow. @throws MediactlError `stdin_size_differs` (exit 2) */
  async #assertEnds(): Promise<void> {
    while (!this.#isEnded && !this.#isTooLong) await this.#pull();
    if (this.#isTooLong) throw sizeDiffers(`stdin has more than ${this.sizeBytes} bytes`, 'more');
  }

  #pull(): Promise<void> {
    this.#pulling ??= this.#readNext().finally(() => {
      this.#pulling = undefined;
    });
    return this.#pulling;
  }

  async #readNext(): Promise<void> {
    const { done, value } = await this.#pieces.next();
    if (done) {
      this.#isEnded = true;
      return;
    }
    const copy = Buffer.from(value);
    const bytes = copy.subarray(0, this.sizeBytes - this.#bufferEnd);
    this.#isTooLong ||= bytes.length < copy.length;
    this.#buffers.push({ at: this.#bufferEnd, bytes });
    this.#bufferEnd += bytes.length;
  }

  #freeBefore(from: number): void {
    this.#bufferStart = Math.max(this.#bufferStart, Math.min(from, this.#bufferEnd));
    const count = this.#buffers.findIndex(({ at, bytes }) => at + bytes.length > this.#bufferStart);
    this.#buffers.splice(0, count < 0 ? this.#buffers.length : count);
  }
}

const streamGone = (at: number, from: number) =>
  new MediactlError('stdin cannot be read twice', {
    code: 'file_missing',
    hint: 'run the same command again with the same input',
    reason: `byte ${at} must be sent again, but only bytes from ${from} are still buffered`,
  });

const sizeDiffers = (problem: string, difference: 'less' | 'more') =>
  new MediactlError(problem, {
    code: 'stdin_size_differs',
    reason: `the command before the pipe sent ${difference} data than the given size`,
  });
