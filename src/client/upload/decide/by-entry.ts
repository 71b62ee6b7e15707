import { lstat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import type { UploadMetadata } from '../../../contract/tus.ts';
import type { EvidenceKind } from '../../../shared/file-evidence.ts';
import { PrefixDigest } from '../sources/checksum.ts';
import { isUnchanged } from '../sources/file-identity.ts';
import type { UploadSource } from '../sources/source.ts';
import type { CompleteEntry, OpenEntry, UploadEntry } from '../store/upload-entry.ts';
import type { ListableUploadStore, UploadStore } from '../store/upload-store.ts';
import type { Decision, FileEvidence, SendDecision } from './decision.ts';
import type { FileMatcher, Subject } from './matcher.ts';
import { defaultSettings } from './upload-settings.ts';

/** Matches a file that has an unfinished upload of its own. Reads its entry, and no byte. */
export const unfinished: FileMatcher = (subject, before, { store, policy }) =>
  decideByEntry(subject, before, store, policy);

/** Like `unfinished`, for a file of a run. Reads nothing unless it was unfinished when the run began. */
export const knownUnfinished: FileMatcher = async (subject, before, deps) => {
  const known = await deps.listUnfinished();
  const isKnown = known.size > 0 && subject.id !== undefined && known.has(subject.id);
  return isKnown ? unfinished(subject, before, deps) : undefined;
};

/** Decides a file by its unfinished upload; undefined if there is none. */
export async function decideByEntry(
  { id, identity }: Pick<Subject, 'id' | 'identity'>,
  before: SendDecision,
  store: UploadStore | undefined,
  { existing } = defaultSettings,
): Promise<Decision | undefined> {
  const entry = id === undefined ? undefined : await store?.read(id);
  if (!entry) return undefined;
  const { state } = entry;
  const anew: SendDecision = { ...before, mayBeDuplicate: false, entry };
  if (existing === 'upload' || state === 'planned' || state === 'intended') return anew;
  // A new upload mixes nothing. The content is compared later, by hashing the part that is uploaded.
  const isOther = identity !== undefined && identity.sizeBytes !== entry.file.sizeBytes;
  if (state === 'whole' ? entry.verified === false : isOther)
    return {
      ...anew,
      reason: 'changed',
      evidence: evidenceOfEntry(entry, state === 'whole' ? 'contradicted' : 'changed'),
    };
  return { action: 'resume', entry, isMoved: false };
}

/** Returns what an unfinished upload shows of its asset. */
export const evidenceOfEntry = ({ session, begunAt }: OpenEntry | CompleteEntry, kind: EvidenceKind): FileEvidence => ({
  kind,
  assetUid: session.assetUid,
  isOwn: true,
  foundAt: begunAt,
});

/** Returns true if a file still has the content that an upload without a receipt has sent. */
export async function hasSentContent(
  { file, blake3 }: CompleteEntry,
  { identity, digest }: { identity: Subject['identity']; digest(): Promise<string> },
): Promise<boolean> {
  return (identity !== undefined && isUnchanged(file, identity)) || (await digest()) === blake3;
}

/**
 * Matches a file that was moved after its upload was interrupted. Service, metadata, size and the acknowledged bytes
 * must match, the old path must be gone, and exactly one upload must match. Reads what is acknowledged of the file.
 */
export const movedUnfinished: FileMatcher = async (subject, before, { api, store, listUnfinished }) => {
  const { file, key, identity, metadata } = subject;
  if (before.entry || !store || !key || !identity || !metadata || !isFile(key.realPath, file.stream)) return undefined;
  const ownKey = matchKeyOf(api.transport.baseUrl.origin, metadata, identity.sizeBytes);
  const ids = [...(await listUnfinished())].flatMap(([id, known]) => (known === ownKey ? [id] : []));
  if (ids.length === 0) return undefined;
  const similar = (await Promise.all(ids.map((each) => store.read(each)))).filter(isOpen);
  const [found, another] = await subject.read((source) => findMatching(source, similar));
  return found && !another ? { action: 'resume', entry: found, isMoved: true } : { ...before, similar };
};

/** Lists the unfinished uploads as `MatcherDeps.listUnfinished` does. */
export async function listKnownEntries(store: ListableUploadStore): Promise<ReadonlyMap<string, string>> {
  const keyOf = (entry: UploadEntry) =>
    isOpen(entry) ? matchKeyOf(entry.baseUrl, entry.metadata, entry.file.sizeBytes) : '';
  return new Map((await store.list()).map((entry) => [entry.id, keyOf(entry)]));
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

const isFile = (realPath: string, identity: unknown) => isAbsolute(realPath) && !identity;

/** Returns true for an upload of a local file whose session accepts bytes. */
export const isOpen = (entry?: UploadEntry): entry is OpenEntry =>
  entry?.state === 'open' && isFile(entry.realPath, entry.identity);

const matchKeyOf = (service: string, metadata: UploadMetadata, sizeBytes: number) =>
  JSON.stringify([service, Object.entries(metadata).sort(), sizeBytes]);
