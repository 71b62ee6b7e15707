import { mkdirSync, readdirSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { join } from 'node:path';

/** Where bytes live below the data folder. Names come from uids of our own making only. */
export class Files {
  readonly #dataDir: string;

  constructor(dataDir: string) {
    this.#dataDir = dataDir;
    for (const folder of [dataDir, join(dataDir, 'uploads'), join(dataDir, 'media')])
      mkdirSync(folder, { recursive: true, mode: 0o700 });
  }

  /** The bytes of a session so far; its length is the session's offset. */
  partial(sessionUid: string): string {
    return join(this.#dataDir, 'uploads', sessionUid);
  }

  assetFolder(assetUid: string): string {
    return join(this.#dataDir, 'media', assetUid);
  }

  /** Of every asset that has a folder. */
  assetUids(): string[] {
    return readdirSync(join(this.#dataDir, 'media'));
  }

  source(assetUid: string): string {
    return join(this.assetFolder(assetUid), 'source');
  }

  hls(assetUid: string): string {
    return join(this.assetFolder(assetUid), 'hls');
  }

  /** Thumbnails, sprites, waveforms and variants. */
  extras(assetUid: string): string {
    return join(this.assetFolder(assetUid), 'extras');
  }

  /** Of a job that runs; never served. */
  work(assetUid: string): string {
    return join(this.assetFolder(assetUid), 'work');
  }

  /** What a user of this machine may still write there. */
  async freeBytes(): Promise<number> {
    const { bavail, bsize } = await statfs(this.#dataDir);
    return bavail * bsize;
  }
}
