import type { AssetRecord } from '../../../contract/types.ts';
import { asText } from '../../../shared/json-values.ts';
import { fileChanged, type UploadSource } from './source.ts';

/** Incremental BLAKE3 hasher whose digest can be read at any point in the stream. */
export type Checksum = {
  update(bytes: Buffer): void;
  /** Returns the hex digest of all bytes hashed so far. `update` can still be called afterwards. */
  digest(): string;
};

/** Creates a native hasher (4 GiB/s) if its optional package is installed, else a WebAssembly one (0.7 GiB/s). */
export async function openChecksum(): Promise<Checksum> {
  try {
    const { Blake3Hasher } = await import('@napi-rs/blake-hash');
    const hasher = new Blake3Hasher();
    return { update: (bytes) => void hasher.update(bytes), digest: () => hasher.digest('hex') };
  } catch {
    return openWasmChecksum();
  }
}

export async function openWasmChecksum(): Promise<Checksum> {
  const { createBLAKE3 } = await import('./blake3-wasm.lazy.ts');
  const hasher = await createBLAKE3();
  return {
    update: (bytes) => void hasher.update(bytes),
    digest: () => {
      const state = hasher.save(); // hash-wasm's digest() finalizes the hasher, so restore its state
      const digest = hasher.digest('hex');
      hasher.load(state);
      return digest;
    },
  };
}

/**
 * Parses a BLAKE3 digest from a header or field and returns it in lower-case hex. Accepts hex or base64, quoted or
 * prefixed with the algorithm's name (assumption A18). Returns undefined if the text is not a 256-bit digest.
 */
export function parseDigest(text: string | undefined): string | undefined {
  // A proxy might have duplicated the header.
  const values = new Set(text?.split(',').map((each) => each.trim()));
  const [only = ''] = values;
  if (values.size !== 1) return undefined;
  const value = only.replace(/^"(.*)"$/, '$1').replace(/^(?:blake3[:=-]|0x)/i, '');
  if (/^[0-9a-f]{64}$/i.test(value)) return value.toLowerCase();
  if (!/^[A-Za-z0-9+/_-]{43}=?$/.test(value)) return undefined;
  return Buffer.from(value.replaceAll('-', '+').replaceAll('_', '/'), 'base64').toString('hex');
}

/** Returns the BLAKE3 checksum that an asset's record shows, in hex (assumption A28). */
export const digestIn = (asset: AssetRecord): string | undefined =>
  Object.entries(asset).flatMap(([field, value]) =>
    /blake3/i.test(field) ? (parseDigest(asText(value)) ?? []) : [],
  )[0];

/** Digest of a file's prefix: BLAKE3 of the first `offset` bytes, in hex. */
export type Prefix = { offset: number; blake3: string };

/**
 * Computes the BLAKE3 digest of a file's prefix from the bytes being sent. It only moves forward. Bytes that are
 * resent after a dropped connection are not hashed twice, and a gap is read from the source.
 */
export class PrefixDigest {
  readonly #source: UploadSource;
  readonly #checksum: Checksum;
  /** Prefix acknowledged to an earlier process. It is compared as soon as the digest reaches its offset. */
  #expected: Prefix | undefined;
  #offset = 0;

  private constructor(source: UploadSource, checksum: Checksum, expected: Prefix | undefined) {
    this.#source = source;
    this.#checksum = checksum;
    this.#expected = expected;
  }

  static async open(source: UploadSource, expected?: Prefix): Promise<PrefixDigest> {
    return new PrefixDigest(source, await openChecksum(), expected);
  }

  current(): Prefix {
    return { offset: this.#offset, blake3: this.#checksum.digest() };
  }

  /** Hashes bytes that are being sent and skips those already hashed. @param start their offset in the file */
  update(start: number, bytes: Buffer): void {
    const alreadyHashed = this.#offset - start;
    if (alreadyHashed < 0) throw new Error(`digest at ${this.#offset} cannot take bytes at ${start}`);
    if (alreadyHashed >= bytes.length) return;
    this.#checksum.update(alreadyHashed === 0 ? bytes : bytes.subarray(alreadyHashed));
    this.#offset = start + bytes.length;
  }

  /** Hashes the source up to `offset`. @throws CodedError `file_changed` (exit 13) if the expected prefix differs */
  async catchUp(offset: number): Promise<void> {
    const expected = this.#expected;
    if (expected) {
      await this.#readUpTo(expected.offset);
      if (this.#checksum.digest() !== expected.blake3)
        throw fileChanged(this.#source.path, 'the part that was already uploaded has changed');
      this.#expected = undefined;
    }
    await this.#readUpTo(offset);
  }

  /** @throws CodedError `file_changed` (exit 13), `file_unusable` (exit 2), if the file changed since it was opened */
  assertUnchanged(): Promise<void> {
    const source = this.#source;
    return source.assertUnchanged(async () => {
      const { offset, blake3 } = this.current();
      const rehash = await openChecksum();
      for await (const bytes of source.read(0, offset, { assertUnchanged: async () => {} })) rehash.update(bytes);
      if (rehash.digest() !== blake3)
        throw fileChanged(source.path, 'its content changed, although its modification time is the same');
    });
  }

  async #readUpTo(offset: number): Promise<void> {
    if (offset <= this.#offset) return;
    // `update` gets the offset too, since bytes prefetched by an aborted request might arrive in between.
    const onRead = this.update.bind(this);
    for await (const _bytes of this.#source.read(this.#offset, offset, { onRead }));
  }
}

/** Returns the BLAKE3 digest of a source that is being opened, in hex, and closes it. */
export async function digestAndClose(opening: Promise<UploadSource>): Promise<string> {
  const source = await opening;
  return digestOf(source).finally(() => source.close());
}

/** Returns the BLAKE3 digest of the complete file, in hex. @param expected prefix that must not have changed */
export async function digestOf(source: UploadSource, expected?: Prefix): Promise<string> {
  const digest = await PrefixDigest.open(source, expected);
  await digest.catchUp(source.sizeBytes);
  await digest.assertUnchanged();
  return digest.current().blake3;
}
