import type { Ledger } from './ledger.ts';

/** Locks uploads across processes (a mutex per upload id, in SQLite). Locks of killed processes are released. */
export class Claims {
  readonly #ledger: Ledger;
  readonly #pid: number;

  /** @param pid of this process, shown to others that find an upload locked */
  constructor(ledger: Ledger, pid: number) {
    this.#ledger = ledger;
    this.#pid = pid;
  }

  /** Locks an upload. @returns the holder's pid, or undefined on success */
  async take(id: string): Promise<number | undefined> {
    await this.#ledger.enlist();
    for (;;) {
      // Read before writing: a write blocks all other processes, and most conflicts show without one.
      const select = 'SELECT run, pid FROM claims WHERE id = ?';
      const holder = this.#ledger.get<{ run: string; pid: number }>(select, id);
      if (holder) {
        const isLeft =
          holder.run !== this.#ledger.run &&
          (await this.#ledger.processes.ifStale(holder.run, () => this.#free(holder.run)));
        if (!isLeft) return holder.pid;
      }
      const insert = 'INSERT OR IGNORE INTO claims VALUES (?, ?, ?)';
      const taken = await this.#ledger.write(insert, id, this.#ledger.run, this.#pid);
      if (taken > 0) return undefined;
    }
  }

  /** Unlocks an upload. Errors are ignored: the lock ends with the process at the latest. */
  async release(id: string): Promise<void> {
    const sql = 'DELETE FROM claims WHERE id = ? AND run = ?';
    await this.#ledger.write(sql, id, this.#ledger.run).catch(() => {});
  }

  /** Releases the locks of killed processes. @param onAbandoned called with the id of each such upload */
  sweep(left: (id: string) => Promise<void>): Promise<void> {
    return this.#ledger.processes.removeStale(async (run) => {
      const sql = 'SELECT id FROM claims WHERE run = ?';
      for (const { id } of this.#ledger.all<{ id: string }>(sql, run)) await left(id);
      await this.#free(run);
    });
  }

  async #free(run: string): Promise<void> {
    await this.#ledger.write('DELETE FROM claims WHERE run = ?', run);
  }
}
