import { realpath } from 'node:fs/promises';
import { basename, dirname, join, posix, relative } from 'node:path';
import { pathExists, toSlashes } from '../../local-path.ts';
import { digestAndClose } from '../sources/checksum.ts';
import { fileAt, type UploadFile } from '../sources/upload-file.ts';
import type { Receipt } from '../store/receipt-row.ts';
import type { Receipts } from '../store/receipts.ts';
import { keep } from './by-receipt.ts';
import { type KeepDecision, type RenamedFiles, type SendDecision, sendNew } from './decision.ts';
import type { BatchMatcher, MatcherDeps, Mirror } from './matcher.ts';

/** @property mirroredDir its directory below the mirrored one; undefined if uploaded elsewhere */
type MissingFileReceipt = Receipt & { mirroredDir: string | undefined };

/**
 * Matches moved files of a mirror, whose content was uploaded from a path that no longer exists. If the target folder
 * is the same, the file is kept, and its receipt gets the new path. Otherwise, a notice explains that it is sent again.
 * Reads only files that have the name and size of a missing file.
 */
export const renamed: BatchMatcher = async (files, deps) => {
  const { receipts, mirror, folders, signal } = deps;
  const decided = new Map<UploadFile, KeepDecision | SendDecision>();
  if (!receipts || !mirror) return decided;
  const missing = await findMissing(files, receipts, mirror, deps);
  const candidates = files.flatMap((file) => {
    const to = folders.find(file);
    const fits = (missing.get(nameAndSizeKey(basename(file.path), file.sizeBytes)) ?? []).filter(
      ({ folder, mirroredDir }) => (folder || undefined) === to || mirroredDir !== undefined,
    );
    return fits.length > 0 ? [{ file, to, fits }] : [];
  });
  const bytes = candidates.reduce((sum, { file: { sizeBytes = 0 } }) => sum + sizeBytes, 0);
  if (candidates.length > 0) deps.notify({ notice: 'reading', files: candidates.length, bytes });
  const directories = new Map<string, Omit<RenamedFiles, 'canRenameFolder'>>();
  const isSelected = await mirror.createPruneSelector?.();
  for (const { file, to, fits } of candidates) {
    signal?.throwIfAborted();
    // An unreadable file fails later, when it is uploaded.
    const blake3 = await digestAndClose(deps.openSource(file.path, file.realPath)).catch(() => undefined);
    const same = fits.filter((receipt) => receipt.blake3 === blake3);
    const [first] = same;
    const here = same.find(({ folder }) => (folder || undefined) === to);
    if (here) decided.set(file, keepMoved(file, here));
    else if (first) {
      const movedUids = same.map(({ assetUid }) => assetUid);
      decided.set(file, { ...sendNew, movedUids });
      const oldPath = posix.join(first.mirroredDir ?? '', basename(first.realPath));
      const places = changedDirectories(mirror, first.mirroredDir ?? '', file.relativeDir);
      const isPruned = isSelected?.(oldPath) ?? false;
      const key = JSON.stringify([places, isPruned]);
      directories.set(key, { ...places, isPruned, count: (directories.get(key)?.count ?? 0) + 1 });
    }
  }
  for (const each of directories.values())
    deps.notify({ notice: 'renamed', ...each, canRenameFolder: await canRenameFolder(each, mirror, deps) });
  return decided;
};

function keepMoved({ path, realPath = path, mtimeNs = '', ctimeNs }: UploadFile, receipt: Receipt): KeepDecision {
  const to = { realPath, mtimeNs, ctimeNs: ctimeNs ?? null };
  return keep('skipped', receipt, [{ record: 'path', key: receipt, to }]);
}

/** Returns the highest directories that differ between two paths, as paths of folders and as local ones. */
function changedDirectories({ directory, top: typed }: Mirror, oldDir: string, newDir: string) {
  const top = posix.join('/', typed);
  let [fromFolder, toFolder] = [posix.join(top, oldDir), posix.join(top, newDir)];
  while (fromFolder !== top && toFolder !== top && posix.basename(fromFolder) === posix.basename(toFolder))
    [fromFolder, toFolder] = [posix.dirname(fromFolder), posix.dirname(toFolder)];
  const [from = '', to = ''] = [fromFolder, toFolder].map((path) => join(directory, posix.relative(top, path)));
  return { from, to, fromFolder, toFolder };
}

async function canRenameFolder(
  { from, fromFolder, toFolder }: Pick<RenamedFiles, 'from' | 'fromFolder' | 'toFolder'>,
  { top }: Mirror,
  { folders }: MatcherDeps,
): Promise<boolean> {
  const isFree = folders.find(fileAt('', posix.relative(posix.join('/', top), toFolder))) === null;
  return isFree && posix.dirname(fromFolder) === posix.dirname(toFolder) && !(await pathExists(from));
}

/** Returns receipts of missing files by name and size, for the given files' names and sizes. */
async function findMissing(
  files: readonly UploadFile[],
  receipts: Receipts,
  { directory }: Mirror,
  { api, workspace, folders }: MatcherDeps,
): Promise<Map<string, MissingFileReceipt[]>> {
  const real = await realpath(directory);
  const kinds = new Set(files.map(({ path, sizeBytes }) => nameAndSizeKey(basename(path), sizeBytes)));
  const missing = new Map<string, MissingFileReceipt[]>();
  for await (const receipt of receipts.listBelow(api.transport.baseUrl.origin, workspace, '')) {
    const { name, sizeBytes, realPath, folder, state } = receipt;
    const kind = nameAndSizeKey(name, sizeBytes);
    const isCandidate = sizeBytes > 0 && state !== 'failed' && kinds.has(kind);
    if (!isCandidate || (await pathExists(realPath))) continue;
    const relativeDir = toSlashes(relative(real, dirname(realPath)));
    const isMirrored =
      !relativeDir.startsWith('..') && folders.find(fileAt(realPath, relativeDir)) === (folder || undefined);
    missing.set(kind, [
      ...(missing.get(kind) ?? []),
      { ...receipt, mirroredDir: isMirrored ? relativeDir : undefined },
    ]);
  }
  return missing;
}

const nameAndSizeKey = (name: string, sizeBytes: number | undefined) => `${sizeBytes} ${name}`;
