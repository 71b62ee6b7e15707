import type { UploadJournal } from '../upload/store/journal.ts';
import { type CorruptEntry, isEntry, type JournalEntry } from '../upload/store/journal-entry.ts';
import type { Lease } from './lease.ts';
import type { Claim, Store } from './store.ts';

/**
 * The journal of one attempt at one file, in the queue's own store. What tells a file from another on one
 * machine alone (device, inode) is left out: on the next machine it would be another file.
 */
export class SharedJournal implements UploadJournal {
  readonly directory: string;
  readonly #store: Store;
  readonly #lease: Lease;
  readonly #fence: string;
  /** As the store has it: nobody else writes it while this attempt may. */
  #page: string | undefined;

  /** @param label of the store, for people */
  constructor(store: Store, { fence, page }: Claim, lease: Lease, label: string) {
    this.directory = label;
    this.#store = store;
    this.#lease = lease;
    this.#fence = fence;
    this.#page = page;
  }

  async read(id: string): Promise<JournalEntry | CorruptEntry | undefined> {
    return this.#page === undefined ? undefined : entryIn(this.#page, id);
  }

  async write(entry: JournalEntry): Promise<void> {
    const { dev: _dev, ino: _ino, ctimeNs: _ctimeNs, ...file } = entry.file;
    await this.#keep(entry.id, JSON.stringify({ ...entry, file }));
  }

  async remove(id: string): Promise<void> {
    await this.#keep(id, undefined);
  }

  /** @throws MediactlError `lease_lost`, which ends the attempt too */
  async #keep(id: string, page: string | undefined): Promise<void> {
    this.#lease.assertHeld();
    if (!(await this.#store.write(id, this.#fence, page))) throw this.#lease.lost();
    this.#page = page;
  }

  async list(): Promise<(JournalEntry | CorruptEntry)[]> {
    return (await this.#store.pages()).map((page) => entryIn(page, ''));
  }

  /** Of this attempt's own file, all is known. */
  async ids(): Promise<string[]> {
    return [];
  }

  /** A page that cannot be read is of a newer version, or of nobody. */
  async setAside(id: string): Promise<string> {
    await this.remove(id);
    return this.directory;
  }

  /** The claim is the lock. */
  async lock(): Promise<() => Promise<void>> {
    return async () => {};
  }

  async sweep(): Promise<void> {}
}

function entryIn(page: string, id: string): JournalEntry | CorruptEntry {
  const path = 'the queue';
  try {
    const entry: unknown = JSON.parse(page);
    if (isEntry(entry)) return entry;
  } catch (error) {
    return { id, path, reason: (error as Error).message };
  }
  return { id, path, reason: 'it is not an upload that this version knows' };
}
