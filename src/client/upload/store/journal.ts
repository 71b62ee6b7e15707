import { closeSync, constants, fstatSync, fsync, lstatSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { type FileHandle, open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { maxChunkBytes } from '../../../contract/tus.ts';
import { isIdentifier } from '../../api/resource.ts';
import { MediactlError } from '../../errors.ts';
import { isDiskFull, stateError } from '../../state-error.ts';
import { makeStateFolder } from '../../state-files.ts';
import { type CorruptEntry, isEntry, type JournalEntry, type OpenEntry } from './journal-entry.ts';
import type { Ledger } from './ledger.ts';

/** Maximum size of a journal entry, which usually has only a few hundred bytes. */
const maxEntryBytes = 1024 * 1024;
/** Size to which each entry is padded (one disk block), so that it can be rewritten in place on a full disk. */
const paddedEntryBytes = 4096;
const extension = '.json';
const fsyncAsync = promisify(fsync);

/**
 * Journal of unfinished uploads for crash recovery. Each upload has one file in the journal folder (mode 0700,
 * files 0600). `ID.json` is the entry, and `ID.json.tmp` is the temporary file for its atomic rename.
 */
export class Journal {
  readonly directory: string;
  readonly #locks: () => Promise<UploadLocks>;

  /** @param pid id of this process, shown to other processes that find an upload locked */
  constructor(stateDir: string, openLedger: () => Promise<Ledger>, pid: number) {
    this.directory = join(stateDir, 'uploads');
    this.#locks = async () => new UploadLocks(await openLedger(), pid);
  }

  async read(id: string): Promise<JournalEntry | CorruptEntry | undefined> {
    const path = this.#path(id);
    try {
      const text = await readEntryFile(path);
      return text === undefined ? undefined : parseEntry(text, id, path);
    } catch (error) {
      return { id, path, reason: (error as Error).message };
    }
  }

  async list(): Promise<(JournalEntry | CorruptEntry)[]> {
    const entries: (JournalEntry | CorruptEntry | undefined)[] = [];
    for (const id of await this.ids()) entries.push(await this.read(id));
    return entries.filter((entry) => entry !== undefined);
  }

  async ids(): Promise<string[]> {
    const names = await readdir(this.directory).catch((error) => {
      if (isMissing(error)) return [];
      throw stateError(error, this.directory);
    });
    return names.filter((name) => name.endsWith(extension)).map((name) => name.slice(0, -extension.length));
  }

  /**
   * Writes an entry atomically, with a temporary file, fsync, an atomic rename, and fsync of the folder. For a file
   * that fits in one request, the `open` entry is written without fsync, because after a power failure the
   * `intended` entry is still on disk. The start of the last of several chunks is always synced.
   */
  async write(entry: JournalEntry): Promise<void> {
    const isSyncSkipped = entry.state === 'open' && entry.file.sizeBytes <= maxChunkBytes && !isSendingLastChunk(entry);
    const path = this.#path(entry.id);
    if (isSyncSkipped && overwriteInPlace(path, textOf(entry))) return;
    const temporary = `${path}.tmp`;
    // Without fsync, synchronous calls take microseconds, which is less than a trip to the thread pool.
    try {
      const fd = await this.#openForWrite(temporary);
      try {
        writeFileSync(fd, textOf(entry).padEnd(paddedEntryBytes, '\n'));
        if (!isSyncSkipped) await fsyncAsync(fd);
      } finally {
        closeSync(fd);
      }
      await rename(temporary, path);
    } catch (error) {
      rmSync(temporary, { force: true });
      // On a full disk the existing file can still be rewritten in place.
      if (isDiskFull(error) && overwriteInPlace(path, textOf(entry))) return;
      throw error;
    }
    if (isSyncSkipped) return;
    const folderFd = openSync(this.directory, 'r');
    await fsyncAsync(folderFd).finally(() => closeSync(folderFd));
  }

  async #openForWrite(path: string): Promise<number> {
    try {
      return openSync(path, 'w', 0o600);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      await makeStateFolder(this.directory);
      return openSync(path, 'w', 0o600);
    }
  }

  async remove(id: string): Promise<void> {
    try {
      rmSync(this.#path(id), { force: true });
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }

  /** Renames an unreadable entry. @returns its new path */
  async setAside(id: string): Promise<string> {
    const aside = `${this.#path(id)}.corrupt`;
    await rename(this.#path(id), aside);
    return aside;
  }

  /** Locks an upload. @returns a function that unlocks it @throws MediactlError `already_uploading` (exit 6) */
  async lock(id: string): Promise<() => Promise<void>> {
    const locks = await this.#locks();
    const pid = await locks.tryLock(id);
    if (pid !== undefined) throw alreadyUploading(pid);
    return () => locks.release(id);
  }

  /** Removes the temporary files that killed processes left, and releases their locks. */
  async sweep(): Promise<void> {
    const locks = await this.#locks();
    await locks.sweep((id) => rm(`${this.#path(id)}.tmp`, { force: true }));
  }

  #path(id: string): string {
    return join(this.directory, `${id}${extension}`);
  }
}

/** Returns true once the last of several chunks is being sent. The service might then have the complete file. */
const isSendingLastChunk = ({ offset, sentTo, file }: OpenEntry) => offset > 0 && sentTo === file.sizeBytes;

const textOf = (entry: JournalEntry) => `${JSON.stringify(entry, null, 2)}\n`;

/**
 * Overwrites an entry with a single write call, which a kill cannot interrupt halfway, and without a rename, which some
 * file systems flush to disk. Returns false if the file does not exist or is too small.
 */
function overwriteInPlace(path: string, text: string): boolean {
  let fd: number;
  try {
    fd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  } catch {
    return false; // missing or not writable: the normal write reports it
  }
  try {
    const found = fstatSync(fd);
    const bytes = Buffer.alloc(found.size, '\n');
    if (!found.isFile() || Buffer.byteLength(text) > found.size) return false;
    bytes.write(text);
    return writeSync(fd, bytes, 0, bytes.length, 0) === bytes.length;
  } finally {
    closeSync(fd);
  }
}

/** Returns the text of an entry; undefined if there is none. @throws Error if it is unreadable or no regular file */
async function readEntryFile(path: string): Promise<string | undefined> {
  const notAnEntry = new Error('it is not a page of the journal');
  let handle: FileHandle;
  try {
    if (!lstatSync(path).isFile()) throw notAnEntry; // a link could lead anywhere
    handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK); // a pipe might have no writer
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
  try {
    const found = await handle.stat();
    if (!found.isFile() || found.size > maxEntryBytes) throw notAnEntry;
    return await handle.readFile('utf8');
  } finally {
    await handle.close();
  }
}

const isMissing = (error: unknown) => ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');

/** Parses an entry. If it is invalid, extracts the asset uid and start time if possible. */
function parseEntry(text: string, id: string, path: string): JournalEntry | CorruptEntry {
  let reason = 'it is not an upload that this version knows';
  try {
    const entry: unknown = JSON.parse(text);
    if (isEntry(entry) && entry.id === id) return entry;
  } catch (error) {
    reason = (error as Error).message;
  }
  const extractField = (field: string) => new RegExp(`"${field}":\\s*"([^"]+)"`).exec(text)?.[1];
  const assetUid = extractField('assetUid');
  return {
    id,
    path,
    reason,
    begunAt: extractField('begunAt'),
    assetUid: isIdentifier(assetUid) ? assetUid : undefined,
  };
}

/** Interface of both journals: the local one of this machine, and the one that queue workers share. */
export type UploadJournal = Pick<
  Journal,
  'directory' | 'read' | 'list' | 'write' | 'remove' | 'ids' | 'setAside' | 'lock' | 'sweep'
>;

const alreadyUploading = (pid: number) =>
  new MediactlError(`already uploading, pid ${pid}`, {
    code: 'already_uploading',
    reason: 'another mediactl process is uploading this file',
    retryable: true,
  });

/** Locks uploads across processes (a mutex per upload id, in SQLite). Locks of killed processes are released. */
class UploadLocks {
  readonly #ledger: Ledger;
  readonly #pid: number;

  constructor(ledger: Ledger, pid: number) {
    this.#ledger = ledger;
    this.#pid = pid;
  }

  /** Tries to lock an upload. @returns undefined on success, otherwise the pid of the process that locked it */
  async tryLock(id: string): Promise<number | undefined> {
    await this.#ledger.registerProcess();
    for (;;) {
      // Read first, because a write blocks all other processes and a read shows most conflicts already.
      const select = 'SELECT run, pid FROM claims WHERE id = ?';
      const holder = this.#ledger.get<{ run: string; pid: number }>(select, id);
      if (holder) {
        const isAbandoned =
          holder.run !== this.#ledger.processId &&
          (await this.#ledger.processLocks.ifStale(holder.run, () => this.#releaseAll(holder.run)));
        if (!isAbandoned) return holder.pid;
      }
      const insert = 'INSERT OR IGNORE INTO claims VALUES (?, ?, ?)';
      const inserted = await this.#ledger.write(insert, id, this.#ledger.processId, this.#pid);
      if (inserted > 0) return undefined;
    }
  }

  /** Unlocks an upload. Errors are ignored, because the lock ends with the process at the latest. */
  async release(id: string): Promise<void> {
    const sql = 'DELETE FROM claims WHERE id = ? AND run = ?';
    await this.#ledger.write(sql, id, this.#ledger.processId).catch(() => {});
  }

  /** Releases the locks of killed processes. @param onAbandoned called with the id of each upload they locked */
  sweep(onAbandoned: (id: string) => Promise<void>): Promise<void> {
    return this.#ledger.processLocks.removeStale(async (run) => {
      const sql = 'SELECT id FROM claims WHERE run = ?';
      for (const { id } of this.#ledger.all<{ id: string }>(sql, run)) await onAbandoned(id);
      await this.#releaseAll(run);
    });
  }

  async #releaseAll(run: string): Promise<void> {
    await this.#ledger.write('DELETE FROM claims WHERE run = ?', run);
  }
}
