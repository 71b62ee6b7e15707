import { createReadStream } from 'node:fs';

/** An incremental BLAKE3 hash. `digest` must be called only once. */
type Blake3 = { update(bytes: Buffer): unknown; digest(encoding: 'hex'): string };

async function createBlake3(): Promise<Blake3> {
  const native = await import('@napi-rs/blake-hash').catch(() => undefined);
  return native ? new native.Blake3Hasher() : (await import('hash-wasm')).createBLAKE3();
}

/** Incremental checksum of the first `offset` bytes of an upload session's file. */
export type Digest = { offset: number; blake3: Blake3; checksum?: string };

/** Caches the checksums of sessions in progress. After a restart, they are recomputed from disk. */
export class DigestCache {
  readonly #digests = new Map<string, Digest>();

  /** Returns the digest of the first `offset` bytes of a session, read from the file at `path` if it is not cached. */
  async get(sessionUid: string, offset: number, path: string): Promise<Digest> {
    const cached = this.#digests.get(sessionUid);
    if (cached?.offset === offset) return cached;
    const digest: Digest = { offset: 0, blake3: await createBlake3() };
    if (offset > 0)
      for await (const bytes of createReadStream(path, { end: offset - 1, highWaterMark: 1024 * 1024 })) {
        digest.blake3.update(bytes);
        digest.offset += bytes.length;
      }
    this.#digests.set(sessionUid, digest);
    return digest;
  }

  delete(sessionUid: string): void {
    this.#digests.delete(sessionUid);
  }
}

/** Returns the checksum as a hex string. Memoizes it, because a hash can be finished only once. */
export const checksumOf = (digest: Digest): string => {
  digest.checksum ??= digest.blake3.digest('hex');
  return digest.checksum;
};
