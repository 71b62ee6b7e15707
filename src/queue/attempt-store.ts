import type { UploadEntry } from '../client/upload/store/upload-entry.ts';
import type { UploadStore } from '../client/upload/store/upload-store.ts';
import type { Lease } from './lease.ts';
import type { QueueClient } from './queue-client.ts';
import type { Claim } from './shared-store.ts';

/**
 * Creates the upload store for one attempt to upload one file, kept in the queue's store. It writes only while the
 * lease is held and the claim's token is the newest. Omits the file's device, inode and change time, which differ on
 * other machines.
 */
export function createAttemptStore(
  { store }: Pick<QueueClient, 'store'>,
  { fence, entry: claimed }: Claim,
  lease: Lease,
): UploadStore {
  /** Cached entry, as JSON. While the lease is held, only this attempt writes the entry. */
  let entryJson = claimed;
  const writeEntry = async (id: string, json: string | undefined) => {
    lease.assertHeld();
    if (!(await store.writeEntry(id, fence, json))) throw lease.revoke();
    entryJson = json;
  };
  let lastWrite = Promise.resolve();
  /**
   * Writes one entry after the other, since a later write could overtake one that is retried.
   *
   * @throws CodedError `taken_over` if another attempt has claimed the job; this attempt then ends
   */
  const save = (id: string, json: string | undefined): Promise<void> => {
    const write = lastWrite.then(() => writeEntry(id, json));
    lastWrite = write.catch(() => {});
    return write;
  };
  const write = (entry: UploadEntry) => {
    const { dev: _dev, ino: _ino, ctimeNs: _ctimeNs, ...file } = entry.file;
    return save(entry.id, JSON.stringify({ ...entry, file }));
  };
  return {
    lock: async () => async () => {}, // the claim serves as the lock
    read: async () => (entryJson === undefined ? undefined : JSON.parse(entryJson)),
    write,
    finish: write, // the worker replaces it with its receipt, which tells more than the uploader knows
    remove: (id) => save(id, undefined),
  };
}
