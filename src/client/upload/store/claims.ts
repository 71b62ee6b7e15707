import type { Ledger } from './ledger.ts';

/** Which process has which upload in hand: one at a time has each. */
export class Claims {
  readonly #ledger: Ledger;
  readonly #pid: number;

  /** @param pid of this process, told to others that want the same upload */
  constructor(ledger: Ledger, pid: number) {
    this.#ledger = ledger;
    this.#pid = pid;
  }

  /** Takes one in hand. @returns the process id of whoever has it; undefined where it is ours now */
  async take(id: string): Promise<number | undefined> {
    await this.#ledger.enlist();
    for (;;) {
      // Most that are taken already are seen without a write, which would keep all others waiting.
      const select = 'SELECT run, pid FROM claims WHERE id = ?';
      const holder = this.#ledger.get<{ run: string; pid: number }>(select, id);
      if (holder) {
        const isLeft =
          holder.run !== this.#ledger.run &&
          (await this.#ledger.processes.ifAbandoned(holder.run, () => this.#free(holder.run)));
        if (!isLeft) return holder.pid;
      }
      const insert = 'INSERT OR IGNORE INTO claims VALUES (?, ?, ?)';
      const taken = await this.#ledger.write(insert, id, this.#ledger.run, this.#pid);
      if (taken > 0) return undefined;
    }
  }

  /** Where that fails, it is let go of with the process. */
  async release(id: string): Promise<void> {
    const sql = 'DELETE FROM claims WHERE id = ? AND run = ?';
    await this.#ledger.write(sql, id, this.#ledger.run).catch(() => {});
  }

  /** Frees what killed processes had in hand. @param left told of each upload of theirs */
  sweep(left: (id: string) => Promise<void>): Promise<void> {
    return this.#ledger.processes.sweep(async (run) => {
      const sql = 'SELECT id FROM claims WHERE run = ?';
      for (const { id } of this.#ledger.all<{ id: string }>(sql, run)) await left(id);
      await this.#free(run);
    });
  }

  async #free(run: string): Promise<void> {
    await this.#ledger.write('DELETE FROM claims WHERE run = ?', run);
  }
}
