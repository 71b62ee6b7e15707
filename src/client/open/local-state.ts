import { once } from 'node:events';
import { join, resolve } from 'node:path';
import type { Clock } from '../../shared/clock.ts';
import { orAborted } from '../../shared/retry.ts';
import type { ChangeHistory } from '../changes/change-history.ts';
import type { DownloadReceipts } from '../library/download-receipts.ts';
import type { Turn, TurnRequest } from '../library/library.ts';
import type { DatabaseUse, StateDatabase } from '../state/state-database.ts';
import { stateError } from '../state-error.ts';
import type { Receipts } from '../upload/store/receipts.ts';
import type { LocalUploadStore } from '../upload/store/upload-store.ts';

export type LocalStateOptions = {
  /** Undefined to keep everything in memory, until `close`. */
  directory: string | undefined;
  clock: Clock;
  signal: AbortSignal;
  warn(message: string): void;
  /** Process that the unfinished uploads of this one belong to. */
  pid?: number | undefined;
  /** Use of the database by default. */
  use?: DatabaseUse | undefined;
};

/** Unfinished uploads, receipts and the history of one directory, or of one process. Each is opened on first use. */
export class LocalState {
  /** Absolute, so that it stays the same if the program changes its working directory. */
  readonly directory: string | undefined;
  readonly #options: LocalStateOptions;
  #database: Promise<StateDatabase> | undefined;
  /** End of the last turn of each mutex, and of each subject, that this process holds or waits for. */
  readonly #lastTurns = new Map<string, Promise<unknown>>();

  constructor(options: LocalStateOptions) {
    this.#options = options;
    this.directory = options.directory === undefined ? undefined : resolve(options.directory);
  }

  /** @throws CodedError `state_…` (exit 14) if it cannot be opened */
  database(use = this.#options.use): Promise<StateDatabase> {
    const { directory } = this;
    const { clock, signal, warn } = this.#options;
    this.#database ??= import('../state/state-database.ts')
      .then(({ StateDatabase: Opened }) =>
        directory === undefined ? Opened.openInMemory() : Opened.open(directory, { clock, signal, warn }, use),
      )
      .catch((error) => {
        this.#database = undefined; // the next use opens it again
        throw error;
      });
    return this.#database;
  }

  /** Keeps the state of uploads in memory from now on, because the directory cannot be used. */
  useMemory(): void {
    this.#database = import('../state/state-database.ts').then(({ StateDatabase: Opened }) => Opened.openInMemory());
  }

  /** Returns the store of unfinished uploads. @throws CodedError `state_…` (exit 14) if it cannot be opened */
  async uploads(): Promise<LocalUploadStore> {
    const { LocalUploadStore: Opened } = await import('../upload/store/upload-store.ts');
    return new Opened(await this.database(), this.#options.pid);
  }

  /** Returns the upload store, or undefined if there has never been one (see `receiptsIfAny`). */
  async uploadsIfAny(): Promise<LocalUploadStore | undefined> {
    return (await this.#isUsed()) ? this.uploads() : undefined;
  }

  /** Returns the receipts of finished uploads. @throws CodedError `state_…` (exit 14) if they cannot be opened */
  async receipts(use?: DatabaseUse): Promise<Receipts> {
    const { Receipts: Opened } = await import('../upload/store/receipts.ts');
    return new Opened(await this.database(use));
  }

  /**
   * Returns the receipts, or undefined if there has never been a database. Does not create the database, so that
   * commands that upload nothing leave no files.
   */
  async receiptsIfAny(use?: DatabaseUse): Promise<Receipts | undefined> {
    return (await this.#isUsed()) ? this.receipts(use) : undefined;
  }

  /** Returns the records of downloads. @throws CodedError `state_…` (exit 14) if they cannot be opened */
  async downloads(): Promise<DownloadReceipts> {
    const { DownloadReceipts: Opened } = await import('../library/download-receipts.ts');
    return new Opened(await this.database());
  }

  /** Returns the records of downloads, or undefined if there has never been a database. */
  async downloadsIfAny(): Promise<DownloadReceipts | undefined> {
    return (await this.#isUsed()) ? this.downloads() : undefined;
  }

  /** Returns the history of changes. @throws CodedError `state_…` (exit 14) if it cannot be opened */
  async history(): Promise<ChangeHistory> {
    const { ChangeHistory: Opened } = await import('../changes/change-history.ts');
    return new Opened(await this.database(), this.#options.clock);
  }

  /** Returns the history, or undefined if there has never been a database. */
  async historyIfAny(): Promise<ChangeHistory | undefined> {
    return (await this.#isUsed()) ? this.history() : undefined;
  }

  /**
   * Waits for a named mutex: in this process in the order of the calls, then for the lock file that all processes with this
   * directory share.
   *
   * @throws CodedError `locked` (exit 6) if another process holds it; `state_…` (exit 14) if there is no lock file and it
   *   is required
   */
  async takeTurn(turn: TurnRequest, signal = this.#options.signal): Promise<Turn> {
    const { name, subject = name } = turn;
    const previous = this.#lastTurns.get(name);
    const hasPrevious = this.#lastTurns.has(subject);
    const over = new AbortController();
    const mine = Promise.allSettled([previous, once(over.signal, 'abort')]);
    const end = () => {
      for (const each of [name, subject]) if (this.#lastTurns.get(each) === mine) this.#lastTurns.delete(each);
      over.abort();
    };
    for (const each of [name, subject]) this.#lastTurns.set(each, mine);
    try {
      if (previous) await orAborted(previous, signal);
      const lock = await this.#lockFile(turn, signal);
      const release = () => {
        lock?.release();
        end();
      };
      return { release, hasWaited: hasPrevious || lock?.hasWaited === true };
    } catch (error) {
      end();
      throw error;
    }
  }

  async #lockFile({ name, waitMs, isRequired }: TurnRequest, signal: AbortSignal) {
    const { directory } = this;
    const { clock, warn } = this.#options;
    if (directory === undefined) return undefined;
    const { lockTimeoutError, waitForLock } = await import('../lock.ts');
    const path = join(directory, `${name}.lock`);
    const busy = () => lockTimeoutError(path);
    try {
      return await waitForLock({ path, waitMs, clock, signal, busy, onWait: warn });
    } catch (thrown) {
      const error = stateError(thrown, path);
      if (isRequired || error.kind !== 'state') throw error;
      return undefined;
    }
  }

  async close(): Promise<void> {
    await (await this.#database?.catch(() => undefined))?.close();
  }

  async #isUsed(): Promise<boolean> {
    if (this.#database || this.directory === undefined) return this.#database !== undefined;
    const { hasEverExisted } = await import('../state/database-file.ts');
    return hasEverExisted(this.directory);
  }
}
