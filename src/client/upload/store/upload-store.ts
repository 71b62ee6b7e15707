import { rm } from 'node:fs/promises';
import { asCodedError, CodedError } from '../../errors.ts';
import { isUnfinished } from '../../state/schema.ts';
import type { StateDatabase } from '../../state/state-database.ts';
import { stateFailure } from '../../state-error.ts';
import { type Receipt, saveReceipt } from './receipt-row.ts';
import { assetOf, type UploadEntry } from './upload-entry.ts';

/**
 * Stores what an upload needs to survive a crash. There are two stores: SQLite for this machine, and Redis for queue
 * workers. Each has one entry per upload, found by its id.
 *
 * Methods throw MediactlErrors: `state_…` (exit 14) if the local database fails, `taken_over` or `queue_…` if that of
 * a queue does.
 */
export type UploadStore = {
  /** True if entries end with this process, because the state folder cannot be used. */
  readonly isInMemory?: boolean;
  /**
   * Locks an upload, so that only one process at a time sends its file. The lock of a killed process ends with it.
   *
   * @param path temporary file to remove if this process is killed before it unlocks
   * @returns a function that unlocks it
   * @throws CodedError `upload_in_progress` (exit 6)
   */
  lock(id: string, path?: string): Promise<() => Promise<void>>;
  read(id: string): Promise<UploadEntry | undefined>;
  /** Writes an entry. Resolves once it outlives a power failure, or only a crash if `isDurable` is false. */
  write(entry: UploadEntry, isDurable?: boolean): Promise<void>;
  /** Records how far the file was sent, for users. Absent if that is shown elsewhere. Need not outlive a crash. */
  saveProgress?(id: string, sentBytes: number): Promise<void>;
  /** Replaces the entry of an upload with its receipt, and unlocks it. Resolves once that outlives a power failure. */
  finish(entry: UploadEntry, receipt: Receipt): Promise<void>;
  /** Removes an entry, but not the lock of this process. An entry that another process has locked stays. */
  remove(id: string): Promise<void>;
};

/** Upload store that can list its entries, as that of this machine can. */
export type ListableUploadStore = UploadStore & { list(): Promise<UploadEntry[]> };

/** @property pid id of the process that is sending the file; null if none is */
export type SendProgress = { sentBytes: number; pid: number | null };

type EntryRow = { entry: string };

/** Upload store of this machine. Each upload is a row of the database, which also shows the process that locks it. */
export class LocalUploadStore implements ListableUploadStore {
  readonly isInMemory: boolean;
  readonly #database: StateDatabase;
  readonly #pid: number | null;
  /** Locks that this process holds, by the id of the upload. */
  readonly #locked = new Map<string, symbol>();

  /** @param pid id of this process, shown to other processes that find an upload locked */
  constructor(database: StateDatabase, pid: number | null = null) {
    this.isInMemory = database.isInMemory;
    this.#database = database;
    this.#pid = pid;
  }

  async lock(id: string, path: string | null = null): Promise<() => Promise<void>> {
    const database = this.#database;
    const { processId, processLocks } = database;
    const releaseAll = (processId: string) => this.#releaseAll(processId);
    await database.registerProcess(releaseAll);
    for (;;) {
      const holder = await this.#holderOf(id);
      const isKilled =
        holder !== undefined &&
        holder.process !== processId &&
        (await processLocks?.ifStale(holder.process, () => releaseAll(holder.process)));
      if (holder && !isKilled) throw alreadyUploading(holder.pid);
      const isLocked = await database.change(
        () =>
          database.run(
            `INSERT INTO uploads (id, state, path, process, pid) VALUES (?, 'planned', ?, ?, ?)
              ON CONFLICT (id) WHERE ${isUnfinished}
              DO UPDATE SET process = excluded.process, pid = excluded.pid WHERE process IS NULL`,
            ...[id, path, processId, this.#pid],
          ) > 0,
      );
      if (!isLocked) continue;
      const lock = Symbol(id);
      this.#locked.set(id, lock);
      return () => this.#release(id, lock);
    }
  }

  async #holderOf(id: string): Promise<{ process: string; pid: number | null } | undefined> {
    const sql = `SELECT process, pid FROM uploads WHERE id = ? AND ${isUnfinished} AND process IS NOT NULL`;
    return this.#database.selectFirst(sql, id);
  }

  /** Unlocks an upload. Errors are ignored, because the lock ends with the process at the latest. */
  async #release(id: string, lock: symbol): Promise<void> {
    if (this.#locked.get(id) === lock && this.#locked.delete(id))
      await this.#unlock(`id = ? AND ${isUnfinished} AND process = ?`, id, this.#database.processId).catch(() => {});
  }

  /** Unlocks what a killed process has locked, and removes its temporary files. */
  async #releaseAll(processId: string): Promise<void> {
    const sql = `SELECT path FROM uploads WHERE process = ? AND ${isUnfinished} AND entry IS NULL AND path IS NOT NULL`;
    const files = await this.#database.select<{ path: string }>(sql, processId);
    for (const { path } of files) await rm(path, { force: true });
    await this.#unlock(`process = ? AND ${isUnfinished}`, processId);
  }

  async #unlock(condition: string, ...values: string[]): Promise<void> {
    const database = this.#database;
    await database.change(() => {
      database.run(`DELETE FROM uploads WHERE ${condition} AND entry IS NULL`, ...values);
      database.run(`UPDATE uploads SET process = NULL, pid = NULL WHERE ${condition}`, ...values);
    });
  }

  async read(id: string): Promise<UploadEntry | undefined> {
    const sql = `SELECT entry FROM uploads WHERE id = ? AND ${isUnfinished} AND entry IS NOT NULL`;
    const row = await this.#database.selectFirst<EntryRow>(sql, id);
    return row && this.#parse(row);
  }

  async list(): Promise<UploadEntry[]> {
    const sql = `SELECT entry FROM uploads WHERE ${isUnfinished} AND entry IS NOT NULL`;
    return (await this.#database.select<EntryRow>(sql)).map((row) => this.#parse(row));
  }

  #parse({ entry }: EntryRow): UploadEntry {
    try {
      return JSON.parse(entry);
    } catch (error) {
      throw stateFailure('state_damaged', `${this.#database.path}: ${(error as Error).message}`, error);
    }
  }

  async write(entry: UploadEntry, isDurable = true): Promise<void> {
    const database = this.#database;
    const { id, state } = entry;
    const values = [state, assetOf(entry) ?? null, JSON.stringify(entry), id];
    await database.change(() => {
      const sql = `UPDATE uploads SET state = ?, asset = ?, entry = ? WHERE id = ? AND ${isUnfinished}`;
      if (database.run(sql, ...values) > 0) return;
      database.run('INSERT INTO uploads (state, asset, entry, id) VALUES (?, ?, ?, ?)', ...values);
    }, isDurable);
  }

  async saveProgress(id: string, sentBytes: number): Promise<void> {
    await this.#database.execute(`UPDATE uploads SET sent = ? WHERE id = ? AND ${isUnfinished}`, sentBytes, id);
  }

  /** Returns how far each unfinished upload was sent, and the id of the process that is sending it, if any. */
  async listProgress(): Promise<Map<string, SendProgress>> {
    type Row = { id: string; sent: number | null; process: string | null; pid: number | null };
    const sql = `SELECT id, sent, process, pid FROM uploads WHERE ${isUnfinished} AND (process IS NOT NULL OR sent IS NOT NULL)`;
    const { processLocks } = this.#database;
    const progress = new Map<string, SendProgress>();
    for (const { id, sent, process, pid } of await this.#database.select<Row>(sql)) {
      const isKilled = process !== null && (await processLocks?.ifStale(process, () => this.#releaseAll(process)));
      progress.set(id, { sentBytes: sent ?? 0, pid: isKilled ? null : pid });
    }
    return progress;
  }

  async finish({ id }: UploadEntry, receipt: Receipt): Promise<void> {
    const lock = this.#locked.get(id);
    await this.#database.change(() => saveReceipt(this.#database, receipt, id), true);
    if (this.#locked.get(id) === lock) this.#locked.delete(id);
  }

  async remove(id: string): Promise<void> {
    const database = this.#database;
    await database.change(() => {
      database.run(`DELETE FROM uploads WHERE id = ? AND ${isUnfinished} AND process IS NULL`, id);
      const reset = `UPDATE uploads SET state = 'planned', asset = NULL, entry = NULL
        WHERE id = ? AND ${isUnfinished} AND process = ?`;
      database.run(reset, id, database.processId);
    });
  }
}

export const alreadyUploading = (pid: number | null = null) =>
  new CodedError(pid === null ? 'already uploading' : `already uploading (pid ${pid})`, {
    code: 'upload_in_progress',
    reason: 'another process is uploading this file',
    retryable: true,
  });

/** Returns nothing for an upload that another process has locked. @throws any other error */
export function ignoreAlreadyUploading(error: unknown): undefined {
  if (asCodedError(error).explanation.code !== 'upload_in_progress') throw error;
}
