import { mkdirSync, readdirSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Paths of media files in the data folder. They contain only generated uids, so no path traversal
 * is possible.
 */
export class Files {
  readonly #dataDir: string;

  constructor(dataDir: string) {
    this.#dataDir = dataDir;
    for (const folder of [dataDir, join(dataDir, 'uploads'), join(dataDir, 'media')])
      mkdirSync(folder, { recursive: true, mode: 0o700 });
  }

  /** Returns the partial file of a session; its size is the session's offset. */
  partial(sessionUid: string): string {
    return join(this.#dataDir, 'uploads', sessionUid);
  }

  assetFolder(assetUid: string): string {
    return join(this.#dataDir, 'media', assetUid);
  }

  /** Returns the uids of all assets that have a folder. */
  assetUids(): string[] {
    return readdirSync(join(this.#dataDir, 'media'));
  }

  source(assetUid: string): string {
    return join(this.assetFolder(assetUid), 'source');
  }

  hls(assetUid: string): string {
    return join(this.assetFolder(assetUid), 'hls');
  }

  /** Folder of derived files: thumbnails, sprites, waveforms, variants. */
  derivedFolder(assetUid: string): string {
    return join(this.assetFolder(assetUid), 'extras');
  }

  /** Returns the temporary folder of a running job; never served. */
  work(assetUid: string): string {
    return join(this.assetFolder(assetUid), 'work');
  }

  /** Returns the free disk space for unprivileged users, in bytes. */
  async freeBytes(): Promise<number> {
    const { bavail, bsize } = await statfs(this.#dataDir);
    return bavail * bsize;
  }
}
