import { type Checksum, openChecksum } from './checksum.ts';
import { changed, type Source } from './source.ts';

/** BLAKE3 of the first `offset` bytes, in hex. */
export type Prefix = { offset: number; blake3: string };

/**
 * The BLAKE3 of the file's beginning, fed by whatever is sent. It never goes back: bytes sent a
 * second time after a broken connection are not hashed twice, and a gap is read from disk.
 */
export class PrefixDigest {
  readonly #source: Source;
  readonly #checksum: Checksum;
  /** What an earlier process saw acknowledged; checked as soon as the digest gets there. */
  #expected: Prefix | undefined;
  #offset = 0;

  constructor(source: Source, checksum: Checksum, expected?: Prefix) {
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

  /**
   * The file is still the one that this digest is of.
   *
   * @throws MediactlError `file_changed`, `file_gone`
   */
  assertUnchanged(): Promise<void> {
    return this.#source.assertUnchanged(() => this.#assertSameContent());
  }

  async #assertSameContent(): Promise<void> {
    const { offset, blake3 } = this.current();
    const again = await openChecksum();
    for await (const bytes of this.#source.read(0, offset, { assertUnchanged: async () => {} }))
      again.update(bytes);
    if (again.digest() !== blake3)
      throw changed(this.#source.path, 'it was written to, and its time of writing put back');
  }

  async #readUpTo(offset: number): Promise<void> {
    if (offset <= this.#offset) return;
    // By its place: bytes that an aborted request read ahead may still arrive in between.
    const onRead = this.take.bind(this);
    for await (const _bytes of this.#source.read(this.#offset, offset, { onRead }));
  }
}
