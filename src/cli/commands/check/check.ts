import { stat } from 'node:fs/promises';
import type { AssetsApi } from '../../../client/api/assets.ts';
import { CodedError, ignoreNotFound, usageError } from '../../../client/errors.ts';
import { listFolders } from '../../../client/library/filter-checks.ts';
import type { FolderNode } from '../../../client/library/folder-tree.ts';
import { isRootPath } from '../../../client/library/library-paths.ts';
import { processingFailed } from '../../../client/library/wait-for-assets.ts';
import { findOwnReceipt, hasContentOf } from '../../../client/upload/decide/by-receipt.ts';
import { digestAndClose } from '../../../client/upload/sources/checksum.ts';
import { FileWalker, type WalkOptions } from '../../../client/upload/sources/file-walker.ts';
import type { OwnFiles } from '../../../client/upload/sources/own-files.ts';
import { FileSource } from '../../../client/upload/sources/source.ts';
import type { UploadFile } from '../../../client/upload/sources/upload-file.ts';
import type { Receipt } from '../../../client/upload/store/receipt-row.ts';
import type { Receipts } from '../../../client/upload/store/receipts.ts';
import { classifyStatus } from '../../../contract/assumptions.ts';
import { pluralize } from '../../../contract/figures.ts';
import { asText, normalizeName } from '../../../contract/json-values.ts';
import { escapeControls, quoteForShell } from '../../../contract/sanitize.ts';
import { possibleNames } from '../../../contract/tus.ts';
import type { AssetRecord } from '../../../contract/types.ts';
import { normalizeUid } from '../../../contract/uid.ts';
import { addExamples, type CommandDefinition, type CommandOutcome, collect } from '../../command.ts';
import type { Context } from '../../context.ts';
import { fetchFolderTree, folderHelp, resolveFolder } from '../../library/folders.ts';
import { type Column, listBy } from '../../output/result.ts';
import { createProgress } from '../../progress/progress.ts';
import type { OutputRecord } from '../../reference/schemas.ts';
import { allFilesOption, filterNames, warnOfSkipped } from '../../uploading/sources.ts';
import { type ByteComparison, createByteComparison } from './compare-bytes.ts';

/**
 * Difference between a local file and the assets in the folder. `moved`: the asset is in another folder. `unverified`:
 * an asset has the same name, but was not uploaded from this machine, or the service returns a rendition of it.
 * `different`: the service returns other bytes.
 */
type FileDifference = OutputRecord<'check'>;

export const check: CommandDefinition = (command, run) => {
  addExamples(
    command,
    'mediactl check ./rushes /Campaigns/2026',
    'mediactl check ./rushes /Campaigns/2026 --download',
    'mediactl check ./rushes /Campaigns/2026 --json',
  );
  command
    .description(
      'Compares a directory with a folder, subdirectories included. Files uploaded from this machine are compared by content. For files uploaded from elsewhere only the name is known: they are listed as unverified, unless --download compares them. If the service has lost an asset, the next upload sends the file again. Exit code 11 if there are differences.',
    )
    .argument('<directory>', 'directory to compare')
    .argument('[folder]', `folder to compare it with: ${folderHelp}`)
    .option('--download', 'download each asset and compare it byte by byte')
    .option('--include <glob>', 'compare only matching files and directories; can be repeated', collect, [] as string[])
    .option('--exclude <glob>', 'skip matching files and directories; can be repeated', collect, [] as string[])
    .option(...allFilesOption)
    .action(
      run((context, directory, path, { download = false, include, exclude, allFiles }) => {
        const folder = path ?? context.settings.folder ?? '/';
        return runCheck(context, { directory, folder, download, include, exclude, allFiles });
      }),
    );
};

/** Directory to compare with a folder, which is given by uid or path. */
export type CheckRequest = Pick<WalkOptions, 'include' | 'exclude' | 'allFiles'> & {
  directory: string;
  folder: string;
  /** True to download each asset and compare its bytes. */
  download: boolean;
};

export async function runCheck(context: Context, request: CheckRequest): Promise<CommandOutcome> {
  const { directory, include, exclude, allFiles } = request;
  const isDirectory = await stat(directory).catch(() => undefined);
  if (!isDirectory?.isDirectory()) throw usageError(`${directory} is not a directory`, 'mediactl check DIRECTORY');
  const own = context.ownFiles;
  const walk = new FileWalker({ include, exclude, allFiles, own, names: filterNames });
  await walk.checkPaths([directory]);
  const { tree, workspace } = await fetchFolderTree(context);
  const top = isRootPath(request.folder) ? undefined : await resolveFolder(context, tree, request.folder);
  const api = (await context.api()).withObserver({ lane: 'bulk' });
  const library = await indexAssets(api.assets, top, tree.roots);
  const receipts = await context.state.receiptsIfAny();
  const scope = { service: api.transport.baseUrl.origin, workspace };
  const progress = request.download ? await createProgress(context, 'auto') : undefined;
  const hasSameBytes = progress && createByteComparison(context, progress);
  const differences: FileDifference[] = [];
  let files = 0;
  for await (const file of walk.files()) {
    files++;
    const found = await compareFile(file, library, { receipts, scope, hasSameBytes, own });
    if (found?.outcome === 'missing_remotely' && found.asset_uid !== null)
      if (await api.assets.get(found.asset_uid).catch(ignoreNotFound))
        // In the trash, it is not found either.
        found.outcome = 'moved';
      else await receipts?.forgetAsset(found.asset_uid);
    if (found) differences.push(found);
  }
  progress?.close();
  warnOfSkipped(context, walk);
  const same = files - differences.length;
  const isSelected = await walk.createSelector(directory);
  for (const [path, assets] of library.byFolder)
    for (const { name, uid } of assets.values()) {
      const inside = joinPath(path, asText(name) ?? uid);
      if (!isSelected(inside)) continue;
      differences.push({ path: `${top?.path ?? ''}/${inside}`, outcome: 'missing_locally', asset_uid: uid });
    }
  for (const unused of walk.unusedFilters) context.terminal.warn(unused);
  const problem = pluralize(differences.length, 'difference');
  context.terminal.info(`${same} of ${files} files match; ${problem}`);
  return {
    result: listBy(({ asset_uid }) => asset_uid ?? '', differences, columns, ''),
    failure:
      differences.length + walk.failures.length > 0
        ? new CodedError(problem, { code: 'check_failed', hint: nextStep(request, differences) })
        : undefined,
  };
}

/** Maximum number of assets that a next step names. */
const maxNamedAssets = 3;

/** Returns the next step for the most frequent kind of differences that has one. */
function nextStep({ directory, folder, download }: CheckRequest, differences: readonly FileDifference[]): string {
  const has = (...kinds: FileDifference['outcome'][]) => differences.some(({ outcome }) => kinds.includes(outcome));
  const both = `${quoteForShell(directory)} ${quoteForShell(folder)}`;
  const sync = `mediactl sync ${both}, to upload missing and changed files`;
  const failed = differences.flatMap(({ outcome, asset_uid }) => (outcome === 'failed' ? (asset_uid ?? []) : []));
  if (failed.length > 0) {
    const uids = failed.length > maxNamedAssets ? 'ID' : failed.join(' ');
    return `check that the files whose processing failed play on your machine; mediactl rm ${uids}, then ${sync}`;
  }
  if (has('missing_remotely', 'changed', 'different')) return sync;
  if (has('unverified') && !download) return `mediactl check ${both} --download, to compare them byte by byte`;
  if (has('unverified'))
    return 'mediactl wait, if they are not ready yet, then run the same command again; a rendition cannot be compared';
  return has('moved')
    ? 'mediactl mv ID /FOLDER, to move an asset back'
    : 'mediactl rm ID, to move an asset that should not be there to the trash';
}

/** Assets by uid, and folder uids, by path relative to the compared folder. Matched assets are removed. */
type AssetIndex = { byFolder: Map<string, Map<string, AssetRecord>>; uids: Map<string, string> };

/** @param top folder to compare; undefined for the top level, whose folders are `roots` */
async function indexAssets(
  assets: AssetsApi,
  top: FolderNode | undefined,
  roots: readonly FolderNode[],
): Promise<AssetIndex> {
  const library: AssetIndex = { byFolder: new Map(), uids: new Map() };
  const waiting = [{ path: '', uid: top?.folder.uid ?? '', children: top?.children ?? roots }];
  for (let place = waiting.pop(); place; place = waiting.pop()) {
    const { path, uid } = place;
    const held = new Map<string, AssetRecord>();
    for await (const { page } of listFolders(assets, [uid === '' ? 'root' : uid]))
      for (const asset of page) held.set(normalizeUid(asset.uid), asset);
    library.byFolder.set(path, held);
    library.uids.set(path, uid);
    for (const { name, folder, children } of place.children)
      waiting.push({ path: joinPath(path, name), uid: folder.uid, children });
  }
  return library;
}

const joinPath = (...names: readonly string[]) => names.filter(Boolean).join('/');

async function compareFile(
  file: UploadFile,
  { byFolder, uids }: AssetIndex,
  { receipts, scope, hasSameBytes, own }: Comparison,
): Promise<FileDifference | undefined> {
  const { path, realPath, relativeDir } = file;
  const assets = byFolder.get(relativeDir);
  const folder = uids.get(relativeDir);
  const key = realPath === undefined || folder === undefined ? undefined : { ...scope, folder, realPath };
  const receipt = key && (await findOwnReceipt(receipts, key, file));
  const asset = receipt?.blake3 ? assets?.get(normalizeUid(receipt.assetUid)) : undefined;
  if (receipt && asset) {
    assets?.delete(normalizeUid(asset.uid));
    const differenceOf = (outcome: FileDifference['outcome']) => ({ path, outcome, asset_uid: asset.uid });
    if (!(await hasSameContent(file, receipt, own))) return differenceOf('changed');
    const state = classifyStatus(asset.status);
    // The next sync names a file that has failed, or no longer does.
    if (state !== 'in progress' && (state === 'failed') !== (receipt.state === 'failed'))
      await receipts?.saveProcessingResult(asset.uid, state === 'failed' ? processingFailed(asset) : asset);
    if (state === 'failed') return differenceOf('failed');
    const isSame = hasSameBytes ? await hasSameBytes(file, asset) : true;
    return isSame ? undefined : differenceOf(isSame === undefined ? 'unverified' : 'different');
  }
  const names = possibleNames({ filename: path.split(/[\\/]/).at(-1) ?? path });
  const named =
    (receipt && assets?.get(normalizeUid(receipt.assetUid))) ??
    [...(assets?.values() ?? [])].find((each) => names.has(normalizeName(asText(each.name) ?? '')));
  if (!named) return { path, outcome: 'missing_remotely', asset_uid: receipt?.assetUid ?? null };
  assets?.delete(normalizeUid(named.uid));
  if (classifyStatus(named.status) === 'failed') return { path, outcome: 'failed', asset_uid: named.uid };
  // A file that this machine has uploaded keeps its own receipt.
  const isSame = await hasSameBytes?.(file, named, receipt?.blake3 ? undefined : key);
  if (isSame) return undefined;
  return { path, outcome: isSame === undefined ? 'unverified' : 'different', asset_uid: named.uid };
}

type Comparison = {
  receipts: Receipts | undefined;
  scope: { service: string; workspace: string };
  own: OwnFiles;
  /** Compares a file with its asset by a download; undefined without --download. */
  hasSameBytes: ByteComparison | undefined;
};

/** Compares size and mtime first, and the checksum if only the mtime differs. */
function hasSameContent(file: UploadFile, receipt: Receipt, own: OwnFiles): Promise<boolean> {
  const { path, sizeBytes = 0, mtimeNs = '', ctimeNs } = file;
  const digest = () => digestAndClose(FileSource.open(path, own));
  return hasContentOf(receipt, { identity: { sizeBytes, mtimeNs, ctimeNs }, digest });
}

const columns: Column<FileDifference>[] = [
  { field: 'outcome', value: ({ outcome }) => outcome, noTruncate: true },
  { field: 'path', value: ({ path }) => escapeControls(path), minWidth: 18 },
  { field: 'asset_uid', value: ({ asset_uid }) => asset_uid ?? '', uid: 'asset' },
];
