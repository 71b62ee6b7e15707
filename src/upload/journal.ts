import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsync,
  openSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { chmod, type FileHandle, open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { exitCodes, MediactlError } from '../errors.ts';
import { makeStateFolder } from '../folders.ts';
import type { Claims } from './claims.ts';
import { type CorruptEntry, isCorrupt, isEntry, type JournalEntry } from './journal-entry.ts';

/** A page is a few hundred bytes. */
const largestPage = 1024 * 1024;
const ending = '.json';
const synced = promisify(fsync);
/** Of a page that is behind what was sent; every other one is 0600. */
const behindMode = 0o400;

/**
 * The uploads under way, a page each, in a folder of their own (0700, files 0600). Of an upload ID
 * there is `ID.json`, and while it is being written `ID.json.tmp`.
 */
export class Journal {
  readonly directory: string;
  readonly #claims: () => Promise<Claims>;

  constructor(stateDir: string, claims: () => Promise<Claims>) {
    this.directory = join(stateDir, 'uploads');
    this.#claims = claims;
  }

  async read(id: string): Promise<JournalEntry | CorruptEntry | undefined> {
    const path = this.#path(id);
    try {
      const page = await pageAt(path);
      if (page === undefined) return undefined;
      const entry = entryIn(page.text, id, path);
      if (page.isBehind && !isCorrupt(entry) && entry.state === 'open')
        entry.sentTo = entry.file.sizeBytes;
      return entry;
    } catch (error) {
      return { id, path, reason: (error as Error).message };
    }
  }

  async list(): Promise<(JournalEntry | CorruptEntry)[]> {
    const entries: (JournalEntry | CorruptEntry)[] = [];
    for (const id of await this.ids()) {
      const entry = await this.read(id);
      if (entry) entries.push(entry);
    }
    return entries;
  }

  /** The uploads that have a page. */
  async ids(): Promise<string[]> {
    const names = await readdir(this.directory).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return [];
      throw error;
    });
    return names
      .filter((name) => name.endsWith(ending))
      .map((name) => name.slice(0, -ending.length));
  }

  /**
   * Whole or not at all: a temporary file, fsync, rename, and fsync of the folder. A session of a file
   * that one request sends is not worth waiting for the disk: after a power cut its intent is there.
   */
  async write(entry: JournalEntry): Promise<void> {
    const isBrief =
      entry.state === 'open' && entry.offset === 0 && entry.sentTo === entry.file.sizeBytes;
    const path = this.#path(entry.id);
    if (isBrief && overwritten(path, textOf(entry))) return;
    const temporary = `${path}.tmp`;
    // What does not wait for the disk is a matter of microseconds: a turn of the pool of threads costs more.
    try {
      const page = await this.#opened(temporary);
      try {
        writeSync(page, textOf(entry));
        if (!isBrief) await synced(page);
      } finally {
        closeSync(page);
      }
      await rename(temporary, path);
    } catch (error) {
      rmSync(temporary, { force: true });
      throw error;
    }
    if (isBrief) return;
    const folder = openSync(this.directory, 'r');
    await synced(folder).finally(() => closeSync(folder));
  }

  /** The folder is made where it is missing. */
  async #opened(path: string): Promise<number> {
    try {
      return openSync(path, 'w', 0o600);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      await makeStateFolder(this.directory);
      return openSync(path, 'w', 0o600);
    }
  }

  /**
   * Marks a page that could not be written again, so that what it says of bytes sent is not believed.
   * The mark is its mode, which a full disk takes too.
   */
  async markBehind(id: string): Promise<void> {
    await chmod(this.#path(id), behindMode);
  }

  async remove(id: string): Promise<void> {
    try {
      rmSync(this.#path(id), { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOTDIR') throw error; // there is no journal, and so no page
    }
  }

  /** Moves an unreadable page out of the way, and says where. */
  async setAside(id: string): Promise<string> {
    const aside = `${this.#path(id)}.corrupt`;
    await rename(this.#path(id), aside);
    return aside;
  }

  /**
   * Takes an upload in hand.
   *
   * @returns what lets go of it again
   * @throws MediactlError `already_uploading` where another process has it
   */
  async lock(id: string): Promise<() => Promise<void>> {
    const claims = await this.#claims();
    const pid = await claims.take(id);
    if (pid !== undefined) throw alreadyUploading(pid);
    return async () => claims.release(id);
  }

  /** Removes what killed processes left beside the pages. */
  async sweep(): Promise<void> {
    const claims = await this.#claims();
    await claims.sweep((id) => rm(`${this.#path(id)}.tmp`, { force: true }));
  }

  #path(id: string): string {
    return join(this.directory, `${id}${ending}`);
  }
}

const textOf = (entry: JournalEntry) => `${JSON.stringify(entry, null, 2)}\n`;

/**
 * Writes over a page in one call, which a killed process has made whole or not at all. To put a file in
 * another's place makes some file systems wait for the disk.
 *
 * @returns false where there is no such page
 */
function overwritten(path: string, text: string): boolean {
  let page: number;
  try {
    page = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    return false; // to be made, or not to be written: the usual way tells
  }
  try {
    const found = fstatSync(page);
    if (!found.isFile()) return false;
    const bytes = Buffer.from(text.padEnd(found.size, '\n'));
    if (writeSync(page, bytes, 0, bytes.length, 0) < bytes.length)
      throw new Error('no space left for the page');
    return true;
  } finally {
    closeSync(page);
  }
}

/** A page; undefined where there is none. @throws Error where it is none, or cannot be read */
async function pageAt(path: string): Promise<{ text: string; isBehind: boolean } | undefined> {
  if (!existsSync(path)) return undefined; // as of most files that are uploaded
  let handle: FileHandle;
  try {
    handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK); // a pipe may have no writer
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error;
  }
  try {
    const found = await handle.stat();
    if (!found.isFile() || found.size > largestPage)
      throw new Error('it is no page of the journal');
    return { text: await handle.readFile('utf8'), isBehind: (found.mode & 0o777) === behindMode };
  } finally {
    await handle.close();
  }
}

/** What a page says; of one that is damaged, what can still be made out. */
function entryIn(text: string, id: string, path: string): JournalEntry | CorruptEntry {
  let reason = 'it is not an upload that this version knows';
  try {
    const entry: unknown = JSON.parse(text);
    if (isEntry(entry) && entry.id === id) return entry;
  } catch (error) {
    reason = (error as Error).message;
  }
  const found = (field: string) => new RegExp(`"${field}":\\s*"([^"]+)"`).exec(text)?.[1];
  return { id, path, reason, assetUid: found('assetUid'), begunAt: found('begunAt') };
}

/** What keeps uploads between runs: the journal of this machine, or another one. */
export type UploadJournal = Pick<
  Journal,
  | 'directory'
  | 'read'
  | 'list'
  | 'write'
  | 'markBehind'
  | 'remove'
  | 'ids'
  | 'setAside'
  | 'lock'
  | 'sweep'
>;

const alreadyUploading = (pid: number) =>
  new MediactlError(`already uploading, pid ${pid}`, {
    code: 'already_uploading',
    exitCode: exitCodes.rejected,
    reason: 'another mediactl process has this upload in hand',
    hint: 'wait for it to finish, or stop it and run the same command again to continue',
    retryable: true,
  });
