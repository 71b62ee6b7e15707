import { exitCodes } from '../../error-table.ts';
import { MediactlError } from '../../errors.ts';
import type { FileIdentity, ReadOptions, UploadSource } from './source.ts';

/** Options for a stream source. */
export type StreamOptions = {
  /** Length of the stream, given with `--size`. */
  sizeBytes: number;
  /** Size of an upload chunk, which stays buffered for a retry. */
  chunkBytes: number;
  /** Identity of the stream in the journal. */
  realPath: string;
  /** Aborts a read that waits for bytes. */
  signal?: AbortSignal | undefined;
};

/** Input stream. It is destroyed on close if possible, because an open pipe would keep the process running. */
type StreamInput = AsyncIterable<Buffer | string> & { destroy?: () => unknown };

/** Size of the blocks in which incoming bytes are buffered. */
const blockBytes = 1024 * 1024;

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
  readonly #pieces: AsyncIterator<Buffer | string>;
  readonly #aborted: Promise<never>;
  /** Maps a block index to its buffer. Buffers are never reused, because a socket might still read from one. */
  readonly #blocks = new Map<number, Buffer>();
  /** The buffered bytes of the stream are [#bufferStart, #bufferEnd). */
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
    this.#pieces = input[Symbol.asyncIterator]();
    this.#aborted = new Promise((_, reject) => {
      if (signal?.aborted) reject(signal.reason);
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
    this.#aborted.catch(() => {}); // avoids an unhandled rejection
  }

  get sizeBytes(): number {
    return this.identity.sizeBytes;
  }

  /**
   * Yields the bytes [start, end) as they arrive. A range longer than a chunk is not buffered for a retry.
   *
   * @throws MediactlError `stream_gone` (exit 1) if `start` is before the buffered bytes; `size_differs` (exit 2)
   *   if the stream is shorter or longer than its size; the signal's reason if it aborts
   */
  async *read(start: number, end: number, { onRead = () => {} }: ReadOptions = {}): AsyncGenerator<Buffer> {
    const isChunk = end - start <= this.#chunkBytes;
    for (let at = start; at < end; ) {
      if (at < this.#bufferStart) throw streamGone(at, this.#bufferStart);
      const keepFrom = isChunk ? start : at;
      this.#freeBefore(keepFrom);
      while (this.#bufferEnd <= at) {
        if (this.#isEnded) throw tooShort(this.#bufferEnd, this.sizeBytes);
        await this.#pull();
        this.#freeBefore(keepFrom);
      }
      const bytes = this.#buffered(at, end);
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
    this.#blocks.clear();
    this.#input.destroy?.();
  }

  /** Checks, before the last bytes are sent, that no more follow. @throws MediactlError `size_differs` (exit 2) */
  async #assertEnds(): Promise<void> {
    while (!this.#isEnded && !this.#isTooLong) await this.#pull();
    if (this.#isTooLong) throw tooLong(this.sizeBytes);
  }

  #pull(): Promise<void> {
    this.#pulling ??= this.#readNext().finally(() => {
      this.#pulling = undefined;
    });
    this.#pulling.catch(() => {}); // avoids an unhandled rejection if the reader was aborted
    return Promise.race([this.#pulling, this.#aborted]);
  }

  async #readNext(): Promise<void> {
    const { done, value } = await this.#pieces.next();
    if (done) this.#isEnded = true;
    else this.#append(typeof value === 'string' ? Buffer.from(value) : value);
  }

  #append(piece: Buffer): void {
    const remaining = this.sizeBytes - this.#bufferEnd;
    if (piece.length > remaining) this.#isTooLong = true;
    for (let rest = piece.subarray(0, remaining); rest.length > 0; ) {
      const within = this.#bufferEnd % blockBytes;
      const block = this.#block(Math.floor(this.#bufferEnd / blockBytes));
      const copied = rest.copy(block, within);
      rest = rest.subarray(copied);
      this.#bufferEnd += copied;
    }
  }

  #block(index: number): Buffer {
    const block = this.#blocks.get(index) ?? Buffer.allocUnsafeSlow(blockBytes);
    this.#blocks.set(index, block);
    return block;
  }

  /** Returns the buffered bytes from `at` up to `end` or the end of the block, whichever comes first. */
  #buffered(at: number, end: number): Buffer {
    const index = Math.floor(at / blockBytes);
    const blockStart = index * blockBytes;
    const to = Math.min(end, this.#bufferEnd, blockStart + blockBytes);
    return this.#block(index).subarray(at - blockStart, to - blockStart);
  }

  /** Frees the blocks before an offset. */
  #freeBefore(from: number): void {
    this.#bufferStart = Math.max(this.#bufferStart, Math.min(from, this.#bufferEnd));
    for (const index of this.#blocks.keys()) {
      if ((index + 1) * blockBytes > this.#bufferStart) break; // ordered by index
      this.#blocks.delete(index);
    }
  }
}

const streamGone = (at: number, from: number) =>
  new MediactlError('stdin cannot be read twice', {
    code: 'stream_gone',
    reason: `byte ${at} is needed again, and what is before byte ${from} is not kept`,
  });

const sizeDiffers = (problem: string, reason: string) =>
  new MediactlError(problem, {
    code: 'stdin_size_differs',
    exitCode: exitCodes.usage,
    reason,
    hint: 'run it again with the right --size, or without it: stdin is then kept on the disk first',
  });

const tooShort = (at: number, sizeBytes: number) =>
  sizeDiffers(`stdin ended at ${at} of ${sizeBytes} bytes`, 'the command before the pipe sent less');

const tooLong = (sizeBytes: number) =>
  sizeDiffers(`stdin continues after ${sizeBytes} bytes`, 'the command before the pipe sent more');
