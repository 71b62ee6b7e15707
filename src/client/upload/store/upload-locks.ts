import type { Ledger } from './ledger.ts';

/** Locks uploads across processes (a mutex per upload id, in SQLite). Locks of killed processes are released. */
export class UploadLocks {
  readonly #ledger: Ledger;
  readonly #pid: number;

  /** @param pid id of this process, shown to other processes that find an upload locked */
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
