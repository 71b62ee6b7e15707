import { createHash } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { exitCodes, MediactlError } from '../errors.ts';
import { tryLock } from '../lock.ts';
import type { Processes } from '../processes.ts';
import type { UploadMetadata } from '../wire/tus.ts';
import type { Prefix } from './prefix-digest.ts';
import type { FileIdentity } from './source.ts';

/** One upload that this machine has begun and not seen through. */
export type JournalEntry = {
  version: 1;
  id: string;
  path: string;
  realPath: string;
  file: FileIdentity;
  baseUrl: string;
  profile: string;
  /** SHA-256 of the API key; the key itself is never here. */
  keyHash: string;
  metadata: UploadMetadata;
  /** ISO 8601: when the creation was about to be sent. */
  intendedAt: string;
  /** Absent while the answer to the creation is not known. */
  session?: { uid: string; url: string; assetUid: string; expiresAt: string };
  /** Acknowledged by the service. */
  offset: number;
  /** The newest acknowledged offset whose digest is known. */
  prefix?: Prefix;
  /** What the check of the whole file said, once the last byte is acknowledged. */
  verified?: boolean | null;
  /** `X-Checksum-Blake3` as it came, where it differs. */
  serviceBlake3?: string;
};

/** What makes two uploads the same upload. */
export type UploadKey = Pick<JournalEntry, 'baseUrl' | 'keyHash' | 'realPath' | 'metadata'>;

export const hashKey = (apiKey: string) => createHash('sha256').update(apiKey).digest('hex');

/** A short, stable name for an upload: the same command finds its own entry again. */
export const uploadId = ({ baseUrl, keyHash, realPath, metadata }: UploadKey) =>
  createHash('sha256')
    .update(JSON.stringify([baseUrl, keyHash, realPath, Object.entries(metadata).sort()]))
    .digest('hex')
    .slice(0, 16);

export type CorruptEntry = { id: string; path: string; reason: string };

/** The uploads under way, a file each, in a folder of their own (0700, files 0600). */
export class Journal {
  readonly directory: string;
  readonly #processes: Processes;

  constructor(stateDir: string, processes: Processes) {
    this.directory = join(stateDir, 'uploads');
    this.#processes = processes;
  }

  async read(id: string): Promise<JournalEntry | CorruptEntry | undefined> {
    const path = this.#path(id);
    let text: string;
    try {
      text = await readFile(path, 'utf8');
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      return code === 'ENOENT' || code === 'ENOTDIR' ? undefined : { id, path, reason: message };
    }
    try {
      const entry = JSON.parse(text) as JournalEntry;
      if (isEntry(entry)) return entry;
      return { id, path, reason: 'it is not an upload that this version knows' };
    } catch (error) {
      return { id, path, reason: (error as Error).message };
    }
  }

  async list(): Promise<(JournalEntry | CorruptEntry)[]> {
    const names = await readdir(this.directory).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return [];
      throw error;
    });
    const ids = names.filter((name) => name.endsWith('.json')).map((name) => name.slice(0, -5));
    const entries = await Promise.all(ids.map((id) => this.read(id)));
    return entries.filter((entry) => entry !== undefined);
  }

  /** Whole or not at all: a temporary file, fsync, rename, and fsync of the folder. */
  async write(entry: JournalEntry): Promise<void> {
    await this.#makeDirectory();
    const path = this.#path(entry.id);
    const temporary = `${path}.${this.#processes.pid}.tmp`;
    try {
      const handle = await open(temporary, 'w', 0o600);
      try {
        await handle.writeFile(`${JSON.stringify(entry, null, 2)}\n`);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(temporary, path);
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
    const folder = await open(this.directory, 'r');
    await folder.sync().finally(() => folder.close());
  }

  async remove(id: string): Promise<void> {
    await rm(this.#path(id), { force: true });
  }

  /** Moves an unreadable entry out of the way, and says where. */
  async setAside(id: string): Promise<string> {
    const aside = `${this.#path(id)}.corrupt`;
    await rename(this.#path(id), aside);
    return aside;
  }

  /** @throws MediactlError `already_uploading` */
  async lock(id: string): Promise<() => Promise<void>> {
    await this.#makeDirectory();
    const lock = await tryLock(join(this.directory, `${id}.lock`), this.#processes);
    if ('release' in lock) return lock.release;
    throw alreadyUploading(lock.heldBy);
  }

  async #makeDirectory(): Promise<void> {
    await mkdir(this.directory, { recursive: true, mode: 0o700 });
  }

  #path(id: string): string {
    return join(this.directory, `${id}.json`);
  }
}

const alreadyUploading = (pid: number | undefined) =>
  new MediactlError(`already uploading${pid === undefined ? '' : `, pid ${pid}`}`, {
    code: 'already_uploading',
    exitCode: exitCodes.rejected,
    reason: 'another mediactl process has this upload in hand',
    hint: 'let it finish, or stop it and run the same command again to go on',
    retryable: true,
  });

export const isCorrupt = (entry: JournalEntry | CorruptEntry): entry is CorruptEntry =>
  'reason' in entry;

function isEntry(value: unknown): value is JournalEntry {
  const entry = value as JournalEntry | null;
  return (
    entry?.version === 1 &&
    typeof entry.id === 'string' &&
    typeof entry.path === 'string' &&
    typeof entry.baseUrl === 'string' &&
    typeof entry.realPath === 'string' &&
    typeof entry.offset === 'number' &&
    typeof entry.file?.sizeBytes === 'number' &&
    typeof entry.metadata?.filename === 'string' &&
    (entry.session === undefined ||
      [entry.session.url, entry.session.uid, entry.session.assetUid].every(
        (each) => typeof each === 'string',
      ))
  );
}
