import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { SqlDatabase } from '../../shared/sqlite.ts';
import { openSqlite } from '../load-package.ts';
import { NamedLocks, withLock } from '../lock.ts';
import { stateError, stateFailure } from '../state-error.ts';
import { makeStateFolder } from '../state-files.ts';
import {
  assertDatabase,
  assertLocalFileSystem,
  databasePath,
  ensureDatabaseFile,
  setDatabaseAside,
  trialWrite,
} from './database-file.ts';
import { createSchema } from './schema.ts';
import { configure, type DatabaseOptions, maxBusyWaitMs, retryWhileBusy, SqliteDatabase } from './sqlite-database.ts';

/**
 * Purpose of opening the database: `check` tests its integrity, `write` tries a write, and `recreate` does both and
 * replaces an unusable database.
 */
export type DatabaseUse = 'read' | 'check' | 'write' | 'recreate';

/**
 * SQLite database in the state folder (mode 0600), with a row for each upload. Each process holds a kernel lock on a
 * file of its own. This lock ends with the process, so that the rows that a killed process has locked can be unlocked.
 */
export class StateDatabase extends SqliteDatabase {
  /** Unique id of this process, recorded in the rows that it locks. */
  readonly processId = randomUUID();
  /** Undefined if the database is in memory. */
  readonly processLocks: NamedLocks | undefined;
  #release: Promise<(() => Promise<void>) | undefined> | undefined;

  private constructor(database: SqlDatabase, options?: DatabaseOptions, path?: string, processLocks?: NamedLocks) {
    super(database, options, path);
    this.processLocks = processLocks;
  }

  /** Opens the database, and creates it if it never existed. @throws CodedError `state_unusable` (exit 14) */
  static async open(
    stateDir: string,
    options: DatabaseOptions = {},
    use: DatabaseUse = 'read',
  ): Promise<StateDatabase> {
    const path = databasePath(stateDir);
    const openDatabase = () => retryWhileBusy(path, options, () => StateDatabase.#openFile(stateDir, options, use));
    try {
      await makeStateFolder(stateDir);
      if (use === 'write' || use === 'recreate') assertLocalFileSystem(stateDir);
      if (use !== 'recreate') return await openDatabase();
      const lock = join(stateDir, 'receipts.lock');
      const busy = () => stateFailure('state_locked', `${lock} is locked`);
      // The lock serializes processes, so that the second one finds the database that the first created.
      return await withLock({ path: lock, waitMs: maxBusyWaitMs, busy }, () =>
        openDatabase().catch((error) => {
          const failure = stateError(error, path);
          const { subcode } = failure.explanation;
          if (subcode !== 'state_damaged' && subcode !== 'state_missing') throw error;
          const aside = setDatabaseAside(path);
          const note = aside ? `; the old one is now ${aside}` : '';
          options.warn?.(`${failure.message}; created a new one${note}`);
          return openDatabase();
        }),
      );
    } catch (error) {
      throw stateError(error, path);
    }
  }

  static async #openFile(stateDir: string, options: DatabaseOptions, use: DatabaseUse): Promise<StateDatabase> {
    const path = databasePath(stateDir);
    await ensureDatabaseFile(path);
    const database = await openSqlite(path);
    try {
      configure(database, path);
      const processLocks = new NamedLocks(join(stateDir, 'runs'), options.warn);
      const isIntegrityChecked = use === 'check' || use === 'recreate';
      await assertDatabase(path, database, isIntegrityChecked);
      if (use === 'write' || use === 'recreate') database.exec(trialWrite);
      return new StateDatabase(database, options, path, processLocks);
    } catch (error) {
      database.close();
      throw error;
    }
  }

  /** Opens a database that ends with this process, for uploads whose state cannot be kept. */
  static async openInMemory(): Promise<StateDatabase> {
    const database = await openSqlite(':memory:');
    database.exec(createSchema);
    return new StateDatabase(database);
  }

  /**
   * Marks this process as running, with a kernel lock on a file of its own, and removes the marks of processes that
   * were killed. @param onKilled called with the id of each of them
   */
  async registerProcess(onKilled: (run: string) => Promise<void>): Promise<void> {
    this.#release ??= this.#register(onKilled).catch((error) => {
      this.#release = undefined; // the next lock tries again
      throw stateError(error, this.path);
    });
    await this.#release;
  }

  async #register(onKilled: (run: string) => Promise<void>) {
    const release = await this.processLocks?.acquire(this.processId);
    await this.processLocks?.removeStale(onKilled);
    return release;
  }

  override async close(): Promise<void> {
    await super.close();
    await (await this.#release?.catch(() => undefined))?.();
  }
}
