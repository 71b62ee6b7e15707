import type { UploadJournal } from '../upload/store/journal.ts';
import { type CorruptEntry, isEntry, type JournalEntry } from '../upload/store/journal-entry.ts';
import type { Lease } from './lease.ts';
import type { Claim, UploadStore } from './upload-store.ts';

/**
 * Journal for one attempt to upload one file, kept in the queue's store. Omits the file's device, inode and change
 * time, which differ on other machines.
 */
export class QueueJournal implements UploadJournal {
  readonly directory: string;
  readonly #store: UploadStore;
  readonly #lease: Lease;
  readonly #fence: string;
  /** Cached journal entry, as JSON. While the lease is held, only this attempt writes the entry. */
  #entryJson: string | undefined;

  /** Creates the journal for one claimed job. It writes only while the lease is held and the claim's token is the newest. */
  constructor({ store, claim, lease, label }: { store: UploadStore; claim: Claim; lease: Lease; label: string }) {
    this.directory = label;
    this.#store = store;
    this.#lease = lease;
    this.#fence = claim.fence;
    this.#entryJson = claim.journalEntry;
  }

  async read(id: string): Promise<JournalEntry | CorruptEntry | undefined> {
    return this.#entryJson === undefined ? undefined : parseEntry(this.#entryJson, id);
  }

  async write(entry: JournalEntry): Promise<void> {
    const { dev: _dev, ino: _ino, ctimeNs: _ctimeNs, ...file } = entry.file;
    await this.#save(entry.id, JSON.stringify({ ...entry, file }));
  }

  async remove(id: string): Promise<void> {
    await this.#save(id, undefined);
  }

  /**
   * Writes the entry, or removes it if `entryJson` is undefined.
   *
   * @throws MediactlError `lease_lost` if another attempt has claimed the job; this attempt then ends
   */
  async #save(id: string, entryJson: string | undefined): Promise<void> {
    this.#lease.assertHeld();
    if (!(await this.#store.writeEntry(id, this.#fence, entryJson))) throw this.#lease.revoke();
    this.#entryJson = entryJson;
  }

  async list(): Promise<(JournalEntry | CorruptEntry)[]> {
    return (await this.#store.listEntries()).map((page) => parseEntry(page, ''));
  }

  /** Returns no ids, because callers already know the only entry, which is for this attempt's file. */
  async ids(): Promise<string[]> {
    return [];
  }

  /** Removes an unreadable entry, which a newer version or another program has written. */
  async setAside(id: string): Promise<string> {
    await this.remove(id);
    return this.directory;
  }

  /** Does nothing, because the claim serves as the lock. */
  async lock(): Promise<() => Promise<void>> {
    return async () => {};
  }

  async sweep(): Promise<void> {}
}

function parseEntry(json: string, id: string): JournalEntry | CorruptEntry {
  const path = 'the queue';
  try {
    const entry: unknown = JSON.parse(json);
    if (isEntry(entry)) return entry;
  } catch (error) {
    return { id, path, reason: (error as Error).message };
  }
  return { id, path, reason: 'it is not an upload that this version knows' };
}
