import { lstat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { asMediactlError } from '../../errors.ts';
import { stateError } from '../../state-error.ts';
import { PrefixDigest } from '../sources/checksum.ts';
import type { UploadSource } from '../sources/source.ts';
import type { CorruptEntry, JournalEntry, OpenEntry } from '../store/journal-entry.ts';
import type { UploadDeps } from './upload-job.ts';

/**
 * Returns a function that finds the unfinished upload of a moved file and moves its journal entry to the new id and
 * path. Service, metadata, size and the acknowledged bytes must match, the old path must be gone, and exactly one
 * upload must match; others are reported. The journal is listed once per run and cached.
 */
export function createMovedUploadFinder(deps: Pick<UploadDeps, 'journal' | 'receipts'>): UploadDeps['findResumable'] {
  const { journal, receipts } = deps;
  let unfinished: Promise<{ id: string; key: string }[]> | undefined;
  return async (file, source, notice) => {
    if (!isFile(file)) return undefined;
    unfinished ??= journal
      .list()
      .then((all) => all.filter(isOpen).map((entry) => ({ id: entry.id, key: matchKeyOf(entry) })));
    const ownKey = matchKeyOf(file);
    const similar = (await unfinished).filter(({ key }) => key === ownKey);
    if (similar.length === 0) return undefined;
    const current = await Promise.all(similar.map(({ id }) => journal.read(id)));
    const entries = current.filter(isOpen).filter(({ session }) => !receipts?.hasAsset(session.assetUid));
    const [found, another] = await findMatching(source, entries);
    const release = found && !another && (await journal.lock(found.id).catch(ignoreAlreadyUploading));
    try {
      const entry = release && (await journal.read(found.id)); // might have changed before we locked it
      if (entry && isOpen(entry)) {
        const moved = { ...entry, id: file.id, path: file.path, realPath: file.realPath };
        await journal.write(moved);
        await journal.remove(entry.id);
        notice(`continuing asset ${entry.session.assetUid}, begun as ${entry.realPath}`);
        return moved;
      }
    } catch (error) {
      throw stateError(error, journal.directory);
    } finally {
      if (release) await release();
    }
    for (const { session, realPath } of entries)
      notice(`not continued: asset ${session.assetUid} of ${realPath}; see mediactl uploads ls`);
    return undefined;
  };
}

/** Returns the entries whose path no longer exists and whose acknowledged bytes are a prefix of this file. */
async function findMatching(source: UploadSource, entries: readonly OpenEntry[]): Promise<OpenEntry[]> {
  const digest = await PrefixDigest.open(source);
  const found: OpenEntry[] = [];
  const offsetOf = ({ prefix }: OpenEntry) => prefix?.offset ?? 0;
  // A run killed while it moved an entry leaves two entries for one session. Use the one with the higher offset.
  const bySession = new Map<string, OpenEntry>();
  for (const entry of [...entries].sort((a, b) => offsetOf(a) - offsetOf(b))) bySession.set(entry.session.uid, entry);
  for (const entry of bySession.values()) {
    const { code } = await lstat(entry.realPath).catch((error) => error);
    if (offsetOf(entry) === 0 || !['ENOENT', 'ENOTDIR'].includes(code)) continue;
    await digest.catchUp(offsetOf(entry));
    if (digest.current().blake3 === entry.prefix?.blake3) found.push(entry);
  }
  return found;
}

function ignoreAlreadyUploading(error: unknown): undefined {
  if (asMediactlError(error).explanation.code !== 'already_uploading') throw error;
}

const isFile = ({ realPath, identity }: JournalEntry) => isAbsolute(realPath) && !identity;

const isOpen = (entry?: JournalEntry | CorruptEntry): entry is OpenEntry =>
  entry !== undefined && 'state' in entry && entry.state === 'open' && isFile(entry);

const matchKeyOf = ({ baseUrl, metadata, file }: JournalEntry) =>
  JSON.stringify([baseUrl, Object.entries(metadata).sort(), file.sizeBytes]);
