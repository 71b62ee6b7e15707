import { createReadStream } from 'node:fs';
import { type Blake3, createBlake3 } from './blake3.ts';

/** The digest of a session's first `offset` bytes. */
export type Digest = { offset: number; blake3: Blake3; checksum?: string };

/** Digests of sessions under way; after a restart they are made again from disk. */
export class Digests {
  readonly #known = new Map<string, Digest>();

  /** The digest of the first `offset` bytes of a session, which are those of the file. */
  async at(sessionUid: string, offset: number, path: string): Promise<Digest> {
    const known = this.#known.get(sessionUid);
    if (known?.offset === offset) return known;
    const digest: Digest = { offset: 0, blake3: await createBlake3() };
    if (offset > 0)
      for await (const bytes of createReadStream(path, {
        end: offset - 1,
        highWaterMark: 1024 * 1024,
      })) {
        digest.blake3.update(bytes);
        digest.offset += bytes.length;
      }
    this.#known.set(sessionUid, digest);
    return digest;
  }

  forget(sessionUid: string): void {
    this.#known.delete(sessionUid);
  }
}

/** In hex. A hash can be finished once; asked again, it is the same. */
export function checksumOf(digest: Digest): string {
  digest.checksum ??= digest.blake3.finish();
  return digest.checksum;
}
