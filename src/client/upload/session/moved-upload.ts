import { lstat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { asCodedError } from '../../errors.ts';
import { PrefixDigest } from '../sources/checksum.ts';
import type { UploadSource } from '../sources/source.ts';
import type { OpenEntry, UploadEntry } from '../store/upload-entry.ts';
import type { ListableUploadStore } from '../store/upload-store.ts';
import type { UploadDeps } from './upload-deps.ts';

/**
 * Returns a function that finds the unfinished upload of a moved file and moves its entry to the new id and path.
 * Service, metadata, size and the acknowledged bytes must match, the old path must be gone, and exactly one upload
 * must match; others are reported. The unfinished uploads are listed once per run and cached.
 */
export function createMovedUploadFinder(store: ListableUploadStore): UploadDeps['findResumable'] {
  let unfinished: Promise<{ id: string; key: string }[]> | undefined;
  return async (file, source, notice) => {
    if (!isFile(file)) return undefined;
    unfinished ??= store
      .list()
      .then((all) => all.filter(isOpen).map((entry) => ({ id: entry.id, key: matchKeyOf(entry) })));
    const ownKey = matchKeyOf(file);
    const similar = (await unfinished).filter(({ key }) => key === ownKey);
    if (similar.length === 0) return undefined;
    const entries = (await Promise.all(similar.map(({ id }) => store.read(id)))).filter(isOpen);
    const [found, another] = await findMatching(source, entries);
    const release = found && !another && (await store.lock(found.id).catch(ignoreAlreadyUploading));
    try {
      const entry = release && (await store.read(found.id)); // might have changed before we locked it
      if (entry && isOpen(entry)) {
        const moved = { ...entry, id: file.id, path: file.path, realPath: file.realPath };
        await Promise.all([store.write(moved), store.remove(entry.id)]); // in one transaction
        notice(`resuming asset ${entry.session.assetUid}, started as ${entry.realPath}`);
        return moved;
      }
    } finally {
      if (release) await release();
    }
    for (const { session, realPath } of entries)
      notice(`not resumed: asset ${session.assetUid} of ${realPath}`, ['list_pending_uploads']);
    return undefined;
  };
}

/** Returns the entries whose path no longer exists and whose acknowledged bytes are a prefix of this file. */
async function findMatching(source: UploadSource, entries: readonly OpenEntry[]): Promise<OpenEntry[]> {
  const digest = await PrefixDigest.open(source);
  const found: OpenEntry[] = [];
  const offsetOf = ({ prefix }: OpenEntry) => prefix?.offset ?? 0;
  for (const entry of [...entries].sort((a, b) => offsetOf(a) - offsetOf(b))) {
    const { code } = await lstat(entry.realPath).catch((error) => error);
    if (offsetOf(entry) === 0 || !['ENOENT', 'ENOTDIR'].includes(code)) continue;
    await digest.catchUp(offsetOf(entry));
    if (digest.current().blake3 === entry.prefix?.blake3) found.push(entry);
  }
  return found;
}

function ignoreAlreadyUploading(error: unknown): undefined {
  if (asCodedError(error).explanation.code !== 'upload_in_progress') throw error;
}

const isFile = ({ realPath, identity }: UploadEntry) => isAbsolute(realPath) && !identity;

const isOpen = (entry?: UploadEntry): entry is OpenEntry => entry?.state === 'open' && isFile(entry);

const matchKeyOf = ({ baseUrl, metadata, file }: UploadEntry) =>
  JSON.stringify([baseUrl, Object.entries(metadata).sort(), file.sizeBytes]);
