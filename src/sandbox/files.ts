import { mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { join } from 'node:path';

/** Paths in the data folder. They are built only from generated uids, so path traversal is impossible. */
export class Files {
  readonly #dataDir: string;

  constructor(dataDir: string) {
    this.#dataDir = dataDir;
    for (const folder of ['uploads', 'media']) mkdirSync(join(dataDir, folder), { recursive: true, mode: 0o700 });
  }

  /** Returns the path of the partial file of a session. The size of the file is the upload offset. */
  partial = (sessionUid: string) => join(this.#dataDir, 'uploads', sessionUid);
  assetFolder = (assetUid: string) => join(this.#dataDir, 'media', assetUid);
  source = (assetUid: string) => join(this.assetFolder(assetUid), 'source');
  hls = (assetUid: string) => join(this.assetFolder(assetUid), 'hls');
  /** Returns the folder of derived files, such as thumbnails, sprites, waveforms and variants. */
  derivedFolder = (assetUid: string) => join(this.assetFolder(assetUid), 'extras');
  /** Returns the temporary folder of a running job. Its files are never served. */
  work = (assetUid: string) => join(this.assetFolder(assetUid), 'work');
  assetUids = () => readdirSync(join(this.#dataDir, 'media'));

  /** Returns the free disk space available to unprivileged users, in bytes. */
  async freeBytes(): Promise<number> {
    const { bavail, bsize } = await statfs(this.#dataDir);
    return bavail * bsize;
  }
}

/** Writes a file (mode 0600) and renames it into place, so that readers never see a part of it. */
export function writeAtomically(path: string, content: string | Buffer): void {
  writeFileSync(`${path}.tmp`, content, { mode: 0o600 });
  renameSync(`${path}.tmp`, path);
}
