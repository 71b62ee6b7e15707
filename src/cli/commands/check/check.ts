import { stat } from 'node:fs/promises';
import type { AssetsApi } from '../../../client/api/assets.ts';
import type { FolderNode } from '../../../client/api/folder-tree.ts';
import { MediactlError, usageError } from '../../../client/errors.ts';
import { digestAndClose, isUnchanged } from '../../../client/upload/session/receipt-lookup.ts';
import { FileWalker, type WalkOptions } from '../../../client/upload/sources/file-walker.ts';
import { FileSource } from '../../../client/upload/sources/source.ts';
import type { UploadCandidate } from '../../../client/upload/sources/upload-candidate.ts';
import type { Receipt, Receipts } from '../../../client/upload/store/receipts.ts';
import { classifyStatus } from '../../../contract/assumptions.ts';
import { pluralize } from '../../../contract/figures.ts';
import { asText } from '../../../contract/json-values.ts';
import { escapeControls, quoteForShell } from '../../../contract/sanitize.ts';
import type { Asset } from '../../../contract/types.ts';
import { normalizeUid } from '../../../contract/uid.ts';
import { addExamples, type CommandDefinition, type CommandOutcome, collect } from '../../command.ts';
import type { Context } from '../../context.ts';
import { fetchFolderTree, folderHelp, isRootPath, resolveFolder } from '../../library/folders.ts';
import { type Column, listBy } from '../../output/result.ts';
import type { OutputRecord } from '../../reference/schemas.ts';
import { warnOfSkipped } from '../../uploading/sources.ts';
import { ignoreNotFound } from '../confirm-many.ts';

/**
 * Difference between a local file and the assets in the folder. `moved`: the asset is in another folder.
 * `not_compared`: an asset has the same name, but was not uploaded from this machine. `extra`: it has no local file.
 */
type FileDifference = OutputRecord<'differences'>;

export const check: CommandDefinition = (command, run) => {
  addExamples(command, 'mediactl check ./rushes /Campaigns/2026', 'mediactl check ./rushes /Campaigns/2026 --json');
  command
    .description(
      'Compares a directory with a folder, subdirectories included. Files uploaded from this machine are compared by content. For files uploaded from elsewhere only the name is known: they are listed as not_compared (see uploads import). If the service has lost an asset, the next upload sends the file again. Exit code 11 if there are differences.',
    )
    .argument('<directory>', 'directory to compare')
    .argument('[folder]', `folder to compare it with: ${folderHelp}`)
    .option('--folder <folder>', 'the same as the second argument')
    .option('--include <glob>', 'compare only matching files; can be repeated', collect, [] as string[])
    .option('--exclude <glob>', 'skip matching files; can be repeated', collect, [] as string[])
    .action(
      run((context, directory, path, { folder: flag, include, exclude }) => {
        if (path !== undefined && flag !== undefined)
          throw usageError(`${path} and --folder cannot be used together`, 'name one folder');
        const folder = path ?? flag ?? context.settings.folder ?? '/';
        return runCheck(context, { directory, folder, include, exclude });
      }),
    );
};

/** Directory to compare with a folder, which is given by uid or path. */
export type CheckRequest = Pick<WalkOptions, 'include' | 'exclude'> & { directory: string; folder: string };

export async function runCheck(context: Context, request: CheckRequest): Promise<CommandOutcome> {
  const { directory, include, exclude } = request;
  const isDirectory = await stat(directory).catch(() => undefined);
  if (!isDirectory?.isDirectory()) throw usageError(`${directory} is not a directory`, 'mediactl check DIRECTORY');
  const walk = new FileWalker({ include, exclude });
  await walk.checkPaths([directory]);
  const { tree, workspace } = await fetchFolderTree(context);
  const top = isRootPath(request.folder) ? undefined : await resolveFolder(context, tree, request.folder);
  const api = (await context.api()).withObserver({ lane: 'bulk' });
  const library = await indexAssets(api.assets, top, tree.roots);
  const receipts = await context.receiptsIfAny();
  const scope = { service: api.transport.baseUrl.origin, workspace };
  const differences: FileDifference[] = [];
  let files = 0;
  for await (const file of walk.files()) {
    files++;
    const found = await compareFile(file, library, receipts, scope);
    if (found?.difference === 'missing' && found.asset_uid !== null)
      if (await api.assets.get(found.asset_uid).catch(ignoreNotFound))
        // In the trash, it is not found either.
        found.difference = 'moved';
      else await receipts?.forgetAsset(found.asset_uid);
    if (found) differences.push(found);
  }
  warnOfSkipped(context, walk);
  const same = files - differences.length;
  for (const [path, assets] of library.byFolder)
    for (const { name, uid } of assets.values()) {
      const where = `${top?.path ?? ''}/${joinPath(path, asText(name) ?? uid)}`;
      differences.push({ path: where, difference: 'extra', asset_uid: uid });
    }
  const problem = pluralize(differences.length, 'difference');
  context.terminal.info(`${same} of ${files} files match; ${problem}`);
  return {
    result: listBy(({ asset_uid }) => asset_uid ?? '', differences, columns, ''),
    failure:
      differences.length + walk.failures.length > 0
        ? new MediactlError(problem, { code: 'differs', hint: nextStep(request, differences) })
        : undefined,
  };
}

/** Suggests a sync if it would help: it does not move assets, and does not delete without --prune. */
function nextStep({ directory, folder }: CheckRequest, differences: readonly FileDifference[]): string {
  const isFixedBySync = differences.some(({ difference }) => !['moved', 'extra'].includes(difference));
  const command = `mediactl sync ${quoteForShell(directory)} ${quoteForShell(folder)}`;
  return isFixedBySync
    ? `${command}, to upload missing and changed files`
    : 'mediactl mv ID /FOLDER moves an asset back';
}

/** Assets by uid, and folder uids, by path relative to the compared folder. Matched assets are removed. */
type AssetIndex = { byFolder: Map<string, Map<string, Asset>>; uids: Map<string, string> };

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
    const held = new Map<string, Asset>();
    for await (const page of assets.list({ parent: uid === '' ? 'root' : uid }, {}))
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
  file: UploadCandidate,
  { byFolder, uids }: AssetIndex,
  receipts: Receipts | undefined,
  scope: { service: string; workspace: string },
): Promise<FileDifference | undefined> {
  const { path, sourceId, relativeDir } = file;
  const assets = byFolder.get(relativeDir);
  const folder = uids.get(relativeDir);
  const receipt =
    sourceId === undefined || folder === undefined
      ? undefined
      : await receipts?.find({ ...scope, folder, path: sourceId });
  const asset = receipt && assets?.get(normalizeUid(receipt.assetUid));
  if (receipt && asset) {
    assets?.delete(normalizeUid(receipt.assetUid));
    const uid = receipt.assetUid;
    if (!(await hasSameContent(file, receipt))) return { path, difference: 'changed', asset_uid: uid };
    const isFailed = classifyStatus(asset.status) === 'failed';
    return isFailed ? { path, difference: 'failed', asset_uid: uid } : undefined;
  }
  const name = path.split(/[\\/]/).at(-1) ?? path;
  const named = [...(assets ?? [])].find(([, each]) => hasFileName(each, name));
  if (!named) return { path, difference: 'missing', asset_uid: receipt?.assetUid ?? null };
  assets?.delete(named[0]);
  return { path, difference: 'not_compared', asset_uid: named[1].uid };
}

const hasFileName = ({ name }: Asset, fileName: string) =>
  name === fileName || name === fileName.replace(/\.[^.]+$/, '');

/** Compares size and mtime first, and the checksum if only the mtime differs. */
async function hasSameContent(file: UploadCandidate, receipt: Receipt): Promise<boolean> {
  const { sizeBytes = 0, mtimeNs = '' } = file;
  if (isUnchanged(receipt, { sizeBytes, mtimeNs })) return true;
  if (sizeBytes !== receipt.sizeBytes) return false;
  return (await digestAndClose(FileSource.open(file.path))) === receipt.blake3;
}

const columns: Column<FileDifference>[] = [
  { header: 'DIFFERENCE', value: ({ difference }) => difference, noTruncate: true },
  { header: 'PATH', value: ({ path }) => escapeControls(path), minWidth: 18 },
  { header: 'ASSET', value: ({ asset_uid }) => asset_uid ?? '', uid: 'asset' },
];
