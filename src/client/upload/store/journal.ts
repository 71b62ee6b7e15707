import {
  closeSync,
  constants,
  fstatSync,
  fsync,
  lstatSync,
  openSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { type FileHandle, open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { maxChunkBytes } from '../../../contract/tus.ts';
import { exitCodes, MediactlError } from '../../errors.ts';
import { makeStateFolder } from '../../folders.ts';
import { isIdentifier } from '../../http/identifier.ts';
import { isOutOfRoom, stateError } from '../../state-error.ts';
import type { Claims } from './claims.ts';
import { type CorruptEntry, isEntry, type JournalEntry, type Open } from './journal-entry.ts';

/** A page is a few hundred bytes. */
const largestPage = 1024 * 1024;
/** A block of the disk: a page has it from the first, so that a full disk can take what comes later. */
const pageBytes = 4096;
const ending = '.json';
const synced = promisify(fsync);

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
      const text = await pageAt(path);
      return text === undefined ? undefined : entryIn(text, id, path);
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
      throw stateError(error, this.directory);
    });
    return names
      .filter((name) => name.endsWith(ending))
      .map((name) => name.slice(0, -ending.length));
  }

  /**
   * Whole or not at all: a temporary file, fsync, rename, and fsync of the folder. A session of a file
   * that one request can send is not worth waiting for the disk: after a power cut its intent is there. The
   * beginning of the last of several chunks is.
   */
  async write(entry: JournalEntry): Promise<void> {
    const isBrief =
      entry.state === 'open' && entry.file.sizeBytes <= maxChunkBytes && !isEnding(entry);
    const path = this.#path(entry.id);
    if (isBrief && overwritten(path, textOf(entry))) return;
    const temporary = `${path}.tmp`;
    // What does not wait for the disk is a matter of microseconds: a turn of the pool of threads costs more.
    try {
      const page = await this.#opened(temporary);
      try {
        writeFileSync(page, textOf(entry).padEnd(pageBytes, '\n'));
        if (!isBrief) await synced(page);
      } finally {
        closeSync(page);
      }
      await rename(temporary, path);
    } catch (error) {
      rmSync(temporary, { force: true });
      // A full disk takes what goes into the place of the page.
      if (isOutOfRoom(error) && overwritten(path, textOf(entry))) return;
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

/** Returns true once the last of several chunks is begun: the service may have the whole file from then on. */
const isEnding = ({ offset, sentTo, file }: Open) => offset > 0 && sentTo === file.sizeBytes;

const textOf = (entry: JournalEntry) => `${JSON.stringify(entry, null, 2)}\n`;

/**
 * Writes over a page in one call, which a killed process has made whole or not at all. To put a file in
 * another's place makes some file systems wait for the disk.
 *
 * @returns false where there is no such page, or none of that length
 */
function overwritten(path: string, text: string): boolean {
  let page: number;
  try {
    page = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  } catch {
    return false; // to be made, or not to be written: the usual way tells
  }
  try {
    const found = fstatSync(page);
    const bytes = Buffer.alloc(found.size, '\n');
    if (!found.isFile() || Buffer.byteLength(text) > found.size) return false;
    bytes.write(text);
    return writeSync(page, bytes, 0, bytes.length, 0) === bytes.length;
  } finally {
    closeSync(page);
  }
}

const notAPage = () => new Error('it is not a page of the journal');

/** A page; undefined where there is none. @throws Error where it is none, or cannot be read */
async function pageAt(path: string): Promise<string | undefined> {
  let handle: FileHandle;
  try {
    if (!lstatSync(path).isFile()) throw notAPage(); // a link may lead anywhere
    handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK); // a pipe may have no writer
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error;
  }
  try {
    const found = await handle.stat();
    if (!found.isFile() || found.size > largestPage) throw notAPage();
    return await handle.readFile('utf8');
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
  const assetUid = found('assetUid');
  return {
    ...{ id, path, reason, begunAt: found('begunAt') },
    assetUid: isIdentifier(assetUid) ? assetUid : undefined,
  };
}

/** What keeps uploads between runs: the journal of this machine, or another one. */
export type UploadJournal = Pick<
  Journal,
  'directory' | 'read' | 'list' | 'write' | 'remove' | 'ids' | 'setAside' | 'lock' | 'sweep'
>;

const alreadyUploading = (pid: number) =>
  new MediactlError(`already uploading, pid ${pid}`, {
    code: 'already_uploading',
    exitCode: exitCodes.rejected,
    reason: 'another mediactl process has this upload in hand',
    hint: 'wait for it to finish, or stop it and run the same command again to continue',
    retryable: true,
  });
