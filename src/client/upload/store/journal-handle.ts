import { exitCodes } from '../../error-table.ts';
import { stateError } from '../../state-error.ts';
import type { UploadJournal } from './journal.ts';
import type { CorruptEntry, JournalEntry } from './journal-entry.ts';

/**
 * Handle for one upload's journal entry. A failed write aborts the upload, which can be resumed later. If the entry
 * is optional, the failure is reported once and the upload continues.
 */
export class JournalHandle {
  readonly #journal: UploadJournal;
  readonly #id: string;
  readonly #isOptional: boolean;
  readonly #notice: (message: string) => void;
  #hasReported = false;
  /** Next entry to write. A newer entry replaces it until its write starts (write coalescing). */
  #pending: JournalEntry | undefined;
  #writing: Promise<void> | undefined;

  /** @param isOptional true if the upload continues when the entry cannot be written */
  constructor(journal: UploadJournal, id: string, isOptional: boolean, notice: (message: string) => void) {
    this.#journal = journal;
    this.#id = id;
    this.#isOptional = isOptional;
    this.#notice = notice;
  }

  /**
   * Locks the upload.
   *
   * @returns a function that unlocks it
   * @throws MediactlError `already_uploading` (exit 6) if another process holds the lock; `state_…` (exit 14)
   */
  async lock(): Promise<() => Promise<void>> {
    try {
      const release = await this.#journal.lock(this.#id);
      return async () => {
        await this.#writing?.catch(() => {}); // its caller reports it
        await release();
      };
    } catch (error) {
      const failure = stateError(error, this.#journal.directory);
      if (failure.exitCode !== exitCodes.state) throw failure;
      this.#throwOrReport(failure);
      return async () => {};
    }
  }

  /** Reads the entry that an earlier run left, if any. */
  read(): Promise<JournalEntry | CorruptEntry | undefined> {
    return this.#journal.read(this.#id);
  }

  /** Renames an unreadable entry and reports its new path. */
  async setAside({ path, reason }: CorruptEntry): Promise<void> {
    const aside = await this.#journal.setAside(this.#id).catch(() => path);
    this.#notice(`the journal of an earlier attempt is unreadable (${reason}); kept as ${aside}`);
  }

  /** Writes the entry and resolves once it or a newer one is on disk. @throws MediactlError `state_…` (exit 14) */
  write(entry: JournalEntry): Promise<void> {
    this.#pending = structuredClone(entry);
    this.#writing ??= this.#writeAll();
    return this.#writing;
  }

  async #writeAll(): Promise<void> {
    try {
      for (let state = this.#pending; state; state = this.#pending) {
        this.#pending = undefined;
        await this.#journal.write(state).catch(async (error) => {
          this.#throwOrReport(error);
          await this.#journal.remove(this.#id).catch(() => {}); // a stale entry would claim that less was sent
        });
      }
    } finally {
      this.#writing = undefined;
    }
  }

  async forget(): Promise<void> {
    await this.#writing;
    await this.#journal.remove(this.#id).catch((error) => this.#reportOnce(error));
  }

  #throwOrReport(error: unknown): void {
    if (!this.#isOptional) throw stateError(error, this.#journal.directory);
    this.#reportOnce(error);
  }

  #reportOnce(error: unknown): void {
    if (this.#hasReported) return;
    this.#hasReported = true;
    this.#notice(
      `cannot write to ${this.#journal.directory} (${(error as Error).message}); if this run is interrupted, the upload cannot be resumed`,
    );
  }
}
