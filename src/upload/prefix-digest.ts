import type { Checksum } from './checksum.ts';
import { changed, type FileSource } from './source.ts';

/** BLAKE3 of the first `offset` bytes, in hex. */
export type Prefix = { offset: number; blake3: string };

/**
 * The BLAKE3 of the file's beginning, fed by whatever is sent. It never goes back: bytes sent a
 * second time after a broken connection are not hashed twice, and a gap is read from disk.
 */
export class PrefixDigest {
  readonly #source: FileSource;
  readonly #checksum: Checksum;
  /** What an earlier process saw acknowledged; checked as soon as the digest gets there. */
  #expected: Prefix | undefined;
  #offset = 0;

  constructor(source: FileSource, checksum: Checksum, expected?: Prefix) {
    this.#source = source;
    this.#checksum = checksum;
    this.#expected = expected;
  }

  /** How far it got, and the digest of all bytes up to there. */
  current(): Prefix {
    return { offset: this.#offset, blake3: this.#checksum.digest() };
  }

  /** Bytes on their way to the service, which stand at `start` in the file. */
  take(start: number, bytes: Buffer): void {
    const known = this.#offset - start;
    if (known < 0) throw new Error(`digest at ${this.#offset} cannot take bytes at ${start}`);
    if (known >= bytes.length) return;
    this.#checksum.update(known === 0 ? bytes : bytes.subarray(known));
    this.#offset = start + bytes.length;
  }

  /**
   * Reads from disk what the service holds and this digest does not, at least as far as an earlier
   * process had seen acknowledged.
   *
   * @throws MediactlError `file_changed` where the bytes on disk are no longer those
   */
  async catchUp(offset: number): Promise<void> {
    const expected = this.#expected;
    if (expected) {
      await this.#readUpTo(expected.offset);
      if (this.#checksum.digest() !== expected.blake3)
        throw changed(
          this.#source.path,
          'the part that was uploaded earlier is no longer the same',
        );
      this.#expected = undefined;
    }
    await this.#readUpTo(offset);
  }

  async #readUpTo(offset: number): Promise<void> {
    if (offset <= this.#offset) return;
    for await (const bytes of this.#source.read(this.#offset, offset))
      this.take(this.#offset, bytes);
  }
}
