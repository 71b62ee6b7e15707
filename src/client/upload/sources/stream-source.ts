import { exitCodes, MediactlError } from '../../errors.ts';
import type { FileIdentity, Reading, Source } from './source.ts';

export type StreamOptions = {
  /** As it was told before the first byte came. */
  sizeBytes: number;
  /** What is sent at once, and may have to be sent again. */
  chunkBytes: number;
  /** What the journal knows it by. */
  realPath: string;
  /** Ends a reading that waits for bytes. */
  signal?: AbortSignal | undefined;
};

/** What can be ended from here is: a pipe that nobody reads would keep the program alive. */
type Input = AsyncIterable<Buffer | string> & { destroy?: () => unknown };

/** Bytes are kept in blocks, however small the pieces are in which they come. */
const blockBytes = 1024 * 1024;

/**
 * stdin, whose length somebody knows beforehand: nothing of it is kept on the disk. It goes forward
 * only. What the newest chunk has read is held, so that it can be sent again; a reading that begins
 * further on lets go of what is before it.
 */
export class StreamSource implements Source {
  readonly path = '-';
  readonly realPath: string;
  readonly identity: FileIdentity;
  readonly #chunkBytes: number;
  readonly #input: Input;
  readonly #pieces: AsyncIterator<Buffer | string>;
  readonly #aborted: Promise<never>;
  /** By place in the stream, in blocks. What is written is never written over: a socket may hold it. */
  readonly #blocks = new Map<number, Buffer>();
  /** The held bytes are [from, to). */
  #from = 0;
  #to = 0;
  #isEnded = false;
  #isLonger = false;
  /** Shared: a reading that was given up may still wait for the same piece. */
  #pulling: Promise<void> | undefined;

  constructor(input: Input, { sizeBytes, chunkBytes, realPath, signal }: StreamOptions) {
    this.realPath = realPath;
    this.identity = { sizeBytes, mtimeNs: '0' };
    this.#chunkBytes = chunkBytes;
    this.#input = input;
    this.#pieces = input[Symbol.asyncIterator]();
    this.#aborted = new Promise((_, reject) => {
      if (signal?.aborted) reject(signal.reason);
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
    this.#aborted.catch(() => {}); // it may come when nobody waits
  }

  get sizeBytes(): number {
    return this.identity.sizeBytes;
  }

  /**
   * The bytes [start, end), as they come. Of more than a chunk, nothing is held.
   *
   * @throws MediactlError `stream_gone` (1) where `start` is before what is held; `size_differs` (2)
   *   where the stream ends too early, or goes on behind the last byte; what the signal aborts with
   */
  async *read(
    start: number,
    end: number,
    { onRead = () => {} }: Reading = {},
  ): AsyncGenerator<Buffer> {
    const isChunk = end - start <= this.#chunkBytes;
    for (let at = start; at < end; ) {
      if (at < this.#from) throw streamGone(at, this.#from);
      const keepFrom = isChunk ? start : at;
      this.#release(keepFrom);
      while (this.#to <= at) {
        if (this.#isEnded) throw tooShort(this.#to, this.sizeBytes);
        await this.#pull();
        this.#release(keepFrom);
      }
      const bytes = this.#held(at, end);
      onRead(at, bytes);
      at += bytes.length;
      if (at >= this.sizeBytes) await this.#assertEnds();
      yield bytes;
    }
  }

  /** Nobody writes to what has been read. */
  async assertUnchanged(): Promise<void> {}

  async close(): Promise<void> {
    this.#release(this.#to);
    this.#blocks.clear();
    this.#input.destroy?.();
  }

  /** @throws MediactlError `size_differs` before the last byte leaves: a chunk too many is no file */
  async #assertEnds(): Promise<void> {
    while (!this.#isEnded && !this.#isLonger) await this.#pull();
    if (this.#isLonger) throw tooLong(this.sizeBytes);
  }

  #pull(): Promise<void> {
    this.#pulling ??= this.#takeNext().finally(() => {
      this.#pulling = undefined;
    });
    this.#pulling.catch(() => {}); // whoever waits for it may have left
    return Promise.race([this.#pulling, this.#aborted]);
  }

  async #takeNext(): Promise<void> {
    const { done, value } = await this.#pieces.next();
    if (done) this.#isEnded = true;
    else this.#hold(typeof value === 'string' ? Buffer.from(value) : value);
  }

  #hold(piece: Buffer): void {
    const room = this.sizeBytes - this.#to;
    if (piece.length > room) this.#isLonger = true;
    for (let rest = piece.subarray(0, room); rest.length > 0; ) {
      const within = this.#to % blockBytes;
      const block = this.#block(Math.floor(this.#to / blockBytes));
      const copied = rest.copy(block, within);
      rest = rest.subarray(copied);
      this.#to += copied;
    }
  }

  #block(index: number): Buffer {
    const block = this.#blocks.get(index) ?? Buffer.allocUnsafeSlow(blockBytes);
    this.#blocks.set(index, block);
    return block;
  }

  /** What is held from a place on, up to the end of its block. */
  #held(at: number, end: number): Buffer {
    const index = Math.floor(at / blockBytes);
    const blockStart = index * blockBytes;
    const to = Math.min(end, this.#to, blockStart + blockBytes);
    return this.#block(index).subarray(at - blockStart, to - blockStart);
  }

  /** Lets go of what is before a place. */
  #release(from: number): void {
    this.#from = Math.max(this.#from, Math.min(from, this.#to));
    for (const index of this.#blocks.keys()) {
      if ((index + 1) * blockBytes > this.#from) break; // in order of place
      this.#blocks.delete(index);
    }
  }
}

const streamGone = (at: number, from: number) =>
  new MediactlError('stdin cannot be read twice', {
    code: 'stream_gone',
    exitCode: exitCodes.unclassified,
    reason: `byte ${at} is needed again, and what is before byte ${from} is not kept`,
    hint: 'run the same command again with the same input; with another, --again makes a new asset',
  });

const sizeDiffers = (problem: string, reason: string) =>
  new MediactlError(problem, {
    code: 'size_differs',
    exitCode: exitCodes.usage,
    reason,
    hint: 'run it again with the right --size, or without it: stdin is then kept on the disk first',
  });

const tooShort = (at: number, sizeBytes: number) =>
  sizeDiffers(
    `stdin ended at ${at} of ${sizeBytes} bytes`,
    'the command before the pipe sent less',
  );

const tooLong = (sizeBytes: number) =>
  sizeDiffers(`stdin continues after ${sizeBytes} bytes`, 'the command before the pipe sent more');
