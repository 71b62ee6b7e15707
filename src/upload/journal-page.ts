import { MediactlError } from '../errors.ts';
import { locked } from '../lock.ts';
import type { UploadJournal } from './journal.ts';
import type { CorruptEntry, JournalEntry } from './journal-entry.ts';

/** Nothing can be kept here at all. */
const isOfFolder = ({ explanation: { code } }: MediactlError) =>
  code === 'folder' || code === 'receipts_unusable';

/** Another process has the store in its hands for too long: nobody knows who has the upload. */
const isHeld = (error: unknown) =>
  (error as { code?: string }).code?.startsWith('SQLITE_BUSY') === true;

/**
 * One upload's page in the journal. Where it cannot be written that is said once, and the upload goes
 * on: each later state is tried again, and meanwhile what the page says of bytes sent is not believed.
 */
export class JournalPage {
  readonly #journal: UploadJournal;
  readonly #id: string;
  readonly #notice: (message: string) => void;
  #isSaid = false;
  /** What is to be written next; a newer state takes the place of one that nobody began to write. */
  #next: JournalEntry | undefined;
  #writing: Promise<void> | undefined;

  constructor(journal: UploadJournal, id: string, notice: (message: string) => void) {
    this.#journal = journal;
    this.#id = id;
    this.#notice = notice;
  }

  /** @throws MediactlError `already_uploading` */
  async lock(): Promise<() => Promise<void>> {
    try {
      const release = await this.#journal.lock(this.#id);
      return async () => {
        await this.#writing;
        await release();
      };
    } catch (error) {
      if (error instanceof MediactlError && !isOfFolder(error)) throw error;
      if (isHeld(error)) throw locked(this.#journal.directory);
      this.#failed(error);
      return async () => {};
    }
  }

  /** What an earlier run left. */
  read(): Promise<JournalEntry | CorruptEntry | undefined> {
    return this.#journal.read(this.#id);
  }

  /** Moves an unreadable page out of the way, and says where. */
  async setAside({ path, reason }: CorruptEntry): Promise<void> {
    const aside = await this.#journal.setAside(this.#id).catch(() => path);
    this.#notice(`the journal of an earlier attempt is unreadable (${reason}); kept as ${aside}`);
  }

  /** Resolves once this state, or a newer one, is on disk. */
  write(entry: JournalEntry): Promise<void> {
    this.#next = structuredClone(entry);
    this.#writing ??= this.#writeAll();
    return this.#writing;
  }

  async #writeAll(): Promise<void> {
    for (let state = this.#next; state; state = this.#next) {
      this.#next = undefined;
      await this.#journal.write(state).catch(async (error) => {
        this.#failed(error);
        await this.#journal.markBehind(this.#id).catch(() => {}); // there is none, or none to be marked
      });
    }
    this.#writing = undefined;
  }

  async forget(): Promise<void> {
    await this.#writing;
    await this.#journal.remove(this.#id).catch((error) => this.#failed(error));
  }

  #failed(error: unknown): void {
    if (this.#isSaid) return;
    this.#isSaid = true;
    this.#notice(
      `cannot write to ${this.#journal.directory} (${(error as Error).message}); if this run is interrupted, the upload cannot be resumed`,
    );
  }
}
