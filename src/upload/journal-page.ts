import { MediactlError } from '../errors.ts';
import { isCorrupt, type Journal, type JournalEntry } from './journal.ts';

/**
 * One upload's page in the journal. Where the journal cannot be used it says so once, and the
 * upload goes on: only its resuming is lost.
 */
export class JournalPage {
  readonly #journal: Journal;
  readonly #id: string;
  readonly #notice: (message: string) => void;
  #works = true;
  #written: Promise<void> = Promise.resolve();

  constructor(journal: Journal, id: string, notice: (message: string) => void) {
    this.#journal = journal;
    this.#id = id;
    this.#notice = notice;
  }

  /** @throws MediactlError `already_uploading` */
  async lock(): Promise<() => Promise<void>> {
    try {
      const release = await this.#journal.lock(this.#id);
      return async () => {
        await this.#written;
        await release();
      };
    } catch (error) {
      if (error instanceof MediactlError) throw error;
      this.#failed(error);
      return async () => {};
    }
  }

  /** What an earlier run left; an unreadable page is put aside, and said. */
  async read(): Promise<JournalEntry | undefined> {
    const found = await this.#journal.read(this.#id);
    if (!found || !isCorrupt(found)) return found;
    const aside = await this.#journal.setAside(this.#id).catch(() => found.path);
    this.#notice(
      `the journal of an earlier attempt is unreadable (${found.reason}); kept as ${aside}; starting anew`,
    );
    return undefined;
  }

  /** Resolves once this state is on disk; states are written in order. */
  write(entry: JournalEntry): Promise<void> {
    const state = structuredClone(entry);
    this.#written = this.#written.then(async () => {
      if (this.#works) await this.#journal.write(state).catch((error) => this.#failed(error));
    });
    return this.#written;
  }

  async forget(): Promise<void> {
    await this.#written;
    await this.#journal.remove(this.#id).catch((error) => this.#failed(error));
  }

  #failed(error: unknown): void {
    if (!this.#works) return;
    this.#works = false;
    this.#notice(
      `cannot write to ${this.#journal.directory} (${(error as Error).message}); if this run is interrupted, the upload cannot be resumed`,
    );
  }
}
