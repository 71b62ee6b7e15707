import type { UploadJournal } from '../upload/store/journal.ts';
import { type CorruptEntry, isEntry, type JournalEntry } from '../upload/store/journal-entry.ts';
import type { Lease } from './lease.ts';
import type { QueueClient } from './queue-client.ts';
import type { Claim } from './upload-store.ts';

/**
 * Creates the journal for one attempt to upload one file, kept in the queue's store. It writes only while the lease is
 * held and the claim's token is the newest. Omits the file's device, inode and change time, which differ on other
 * machines.
 */
export function createQueueJournal(
  { store, address }: Pick<QueueClient, 'store' | 'address'>,
  { fence, journalEntry }: Claim,
  lease: Lease,
): UploadJournal {
  /** Cached journal entry, as JSON. While the lease is held, only this attempt writes the entry. */
  let entryJson = journalEntry;
  /** @throws MediactlError `lease_lost` if another attempt has claimed the job; this attempt then ends */
  const save = async (id: string, json: string | undefined) => {
    lease.assertHeld();
    if (!(await store.writeEntry(id, fence, json))) throw lease.revoke();
    entryJson = json;
  };
  return {
    directory: address.label,
    read: async (id) => (entryJson === undefined ? undefined : parseEntry(entryJson, id)),
    write: (entry) => {
      const { dev: _dev, ino: _ino, ctimeNs: _ctimeNs, ...file } = entry.file;
      return save(entry.id, JSON.stringify({ ...entry, file }));
    },
    remove: (id) => save(id, undefined),
    list: async () => (await store.listEntries()).map((page) => parseEntry(page, '')),
    ids: async () => [], // callers already know the only entry, which is for this attempt's file
    // An unreadable entry, which a newer version or another program has written, is removed.
    setAside: async (id) => {
      await save(id, undefined);
      return address.label;
    },
    lock: async () => async () => {}, // the claim serves as the lock
    sweep: async () => {},
  };
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
