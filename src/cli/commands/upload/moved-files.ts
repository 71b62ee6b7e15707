import { realpath } from 'node:fs/promises';
import { basename, dirname, join, posix, relative } from 'node:path';
import { toSlashes } from '../../../client/local-path.ts';
import type { FindUploaded } from '../../../client/upload/batch/plan.ts';
import { digestAndClose, type FoundUpload } from '../../../client/upload/session/receipt-lookup.ts';
import { type FolderResolver, fileAt, type UploadFile } from '../../../client/upload/sources/upload-file.ts';
import type { Receipt, Receipts } from '../../../client/upload/store/receipts.ts';
import { formatBytes, pluralize } from '../../../contract/figures.ts';
import { escapeControls, quoteForShell } from '../../../contract/sanitize.ts';
import type { Context } from '../../context.ts';
import type { UploadSources } from '../../uploading/sources.ts';
import { type PruneOptions, pathExists } from './prune.ts';

/** @property isDryRun true to leave the receipts unchanged */
type MovedFileOptions = Omit<PruneOptions, 'limit'> &
  Pick<UploadSources, 'open'> & { folders: FolderResolver; isPruned: boolean; isDryRun: boolean };

/** @property syncedDir its directory below the synced one; undefined if uploaded elsewhere */
type MissingFileReceipt = Receipt & { syncedDir: string | undefined };

/** Files that are in another directory now. Their old assets stay unless they are pruned. */
type RenamedFiles = { was: string; is: string; isPruned: boolean; count: number };

/**
 * Creates a function that detects moved files, whose content was uploaded from a path that no longer exists. If the
 * target folder is the same, the file counts as uploaded, and its receipt gets the new path. Otherwise, a warning
 * explains that it will be uploaded again. Reads only files that have the name and size of a missing file.
 */
export function createMovedFileFinder(context: Context, sync: MovedFileOptions, receipts: Receipts): FindUploaded {
  const { terminal, signal } = context;
  const top = posix.join('/', sync.top);
  return async (files) => {
    const missing = await findMissing(context, sync, receipts, files);
    const candidates = files.flatMap((file) => {
      const to = sync.folders.find(file);
      const matches = (missing.get(nameAndSizeKey(basename(file.path), file.sizeBytes)) ?? []).filter(
        ({ folder, syncedDir }) => (folder || undefined) === to || syncedDir !== undefined,
      );
      return matches.length > 0 ? [{ file, to, fits: matches }] : [];
    });
    const size = candidates.reduce((sum, { file: { sizeBytes = 0 } }) => sum + sizeBytes, 0);
    if (candidates.length > 0)
      terminal.info(
        `reading ${pluralize(candidates.length, 'file')}, ${formatBytes(size)}: files with the same name and size were uploaded from paths that no longer exist`,
      );
    const moved = new Map<UploadFile, FoundUpload>();
    const renamed = new Map<string, RenamedFiles>();
    const isSelected = await sync.filters.createSelector(sync.directory);
    for (const { file, to, fits } of candidates) {
      signal.throwIfAborted();
      // An unreadable file fails later, when it is uploaded.
      const blake3 = await digestAndClose(sync.open(file.path, file.realPath)).catch(() => undefined);
      const same = fits.filter((receipt) => receipt.blake3 === blake3);
      const here = same.find(({ folder }) => (folder || undefined) === to);
      if (here) moved.set(file, { kind: 'skipped', receipt: here });
      else if (same[0]) {
        for (const { assetUid } of same) sync.movedUids.add(assetUid);
        let [was, is] = [posix.join(top, same[0].syncedDir ?? ''), posix.join(top, file.relativeDir)];
        while (was !== top && is !== top && posix.basename(was) === posix.basename(is))
          [was, is] = [posix.dirname(was), posix.dirname(is)];
        const isPruned = sync.isPruned && isSelected(posix.join(same[0].syncedDir ?? '', basename(same[0].realPath)));
        const key = JSON.stringify([was, is, isPruned]);
        renamed.set(key, { was, is, isPruned, count: (renamed.get(key)?.count ?? 0) + 1 });
      }
    }
    if (!sync.isDryRun)
      await Promise.all(
        [...moved].map(([{ path, realPath = path, mtimeNs = '', ctimeNs = null }, { receipt }]) =>
          receipts.updatePath(receipt, { realPath, mtimeNs, ctimeNs }),
        ),
      );
    for (const each of renamed.values()) terminal.warn(await formatRenameWarning(sync, top, each));
    return { found: moved, requests: 0, adopted: [] };
  };
}

/** Returns receipts of missing files by name and size, for the given files' names and sizes. */
async function findMissing(
  context: Context,
  { directory, workspace, folders }: MovedFileOptions,
  receipts: Receipts,
  files: readonly UploadFile[],
): Promise<Map<string, MissingFileReceipt[]>> {
  const service = (await context.account()).baseUrl.origin;
  const real = await realpath(directory);
  const kinds = new Set(files.map(({ path, sizeBytes }) => nameAndSizeKey(basename(path), sizeBytes)));
  const gone = new Map<string, MissingFileReceipt[]>();
  for await (const receipt of receipts.listBelow(service, workspace, '')) {
    const { name, sizeBytes, realPath, folder, state } = receipt;
    const kind = nameAndSizeKey(name, sizeBytes);
    const isCandidate = sizeBytes > 0 && state !== 'failed' && kinds.has(kind);
    if (!isCandidate || (await pathExists(realPath))) continue;
    const relativeDir = toSlashes(relative(real, dirname(realPath)));
    const isOurs =
      !relativeDir.startsWith('..') && folders.find(fileAt(realPath, relativeDir)) === (folder || undefined);
    gone.set(kind, [...(gone.get(kind) ?? []), { ...receipt, syncedDir: isOurs ? relativeDir : undefined }]);
  }
  return gone;
}

const nameAndSizeKey = (name: string, sizeBytes: number | undefined) => `${sizeBytes} ${name}`;

async function formatRenameWarning(
  { directory, folders }: MovedFileOptions,
  top: string,
  { was, is, isPruned, count }: RenamedFiles,
): Promise<string> {
  const [from = '', to = ''] = [was, is].map((path) => join(directory, posix.relative(top, path)));
  const what = `${pluralize(count, 'file')} of ${from} ${count === 1 ? 'is' : 'are'} now in ${to}`;
  const old = isPruned ? 'move to the trash once the new ones are ready' : 'stay';
  const sent = escapeControls(`${what}: they will be uploaded again, to ${is}; the old assets in ${was} ${old}`);
  const isFree = folders.find(fileAt('', posix.relative(top, is))) === null;
  if (!isFree || posix.dirname(was) !== posix.dirname(is) || (await pathExists(from))) return sent;
  const rename = `mediactl folders rename ${quoteForShell(was)} ${quoteForShell(posix.basename(is))}`;
  return `${sent}. To avoid that, stop, run ${escapeControls(rename)}, then the same command`;
}
