import { type Command, Option } from '@commander-js/extra-typings';
import { type DownloadPart, partOfFolder } from '../../../client/download/download-plan.ts';
import { assetFileName, inDirectory, readFileRecord } from '../../../client/download/file-name.ts';
import { findDownload } from '../../../client/download/transfer.ts';
import { usageError } from '../../../client/errors.ts';
import { isGlob } from '../../../client/glob.ts';
import type { FolderNode } from '../../../client/library/folder-tree.ts';
import { normalizePath } from '../../../client/library/folder-tree.ts';
import { isLibraryPath, withoutFolderPrefix } from '../../../client/library/library-paths.ts';
import { hasFilters, type SelectedAsset } from '../../../client/library/select-assets.ts';
import { isDirectory } from '../../../client/local-path.ts';
import { makeFolder } from '../../../client/state-files.ts';
import type { Collection } from '../../../contract/paths.ts';
import { quoteForShell } from '../../../shared/sanitize.ts';
import { type ActionWrapper, addExamples, type FlagsOf } from '../../command.ts';
import type { Context } from '../../context.ts';
import { idsHelp, newestOption, selectionPorts } from '../../library/asset-ids.ts';
import { fetchFolderTree } from '../../library/folders.ts';
import { NoAssetError } from '../../library/no-asset-error.ts';
import { mediaFinder } from '../../library/transfer-ports.ts';
import { noResult } from '../../output/result.ts';
import { createProgress, progressModes } from '../../progress/progress.ts';
import { parseCount } from '../../settings/units.ts';
import { noLimit } from '../confirm-many.ts';
import { parseFilters, withFilters } from '../filters.ts';
import { pickOption, resolveTargets } from './bulk.ts';
import { type DownloadRequest, downloadList, downloadMany } from './download-many.ts';
import { savedRecord, saveOne } from './save.ts';

export function download(command: Command, run: ActionWrapper, collection: Collection): void {
  addExamples(
    command,
    `mediactl ${collection} download @last -o master.mp4`,
    ...(collection === 'assets'
      ? ['mediactl download /Campaigns/2026 -d ./campaign', 'mediactl download --pick -d ./picked']
      : []),
    `mediactl ${collection} download --tag dailies --created-after 1d -d ./dailies`,
  );
  addDownloadOptions(command, collection).action(
    run(async (context, ids, flags) =>
      runDownload(context, await parseDownloadRequest(context, { collection, ids }, flags)),
    ),
  );
}

function addDownloadOptions(command: Command, collection: Collection) {
  const described = command
    .description(
      'Downloads files, and verifies by BLAKE3 what this machine uploaded; other files may be renditions. A folder keeps its tree. Run it again to go on, and for what is new or changed. Files that you changed are replaced only with --yes.',
    )
    .argument('[id...]', idsHelp)
    .option('-o, --output <file>', 'file to write; - for stdout (the name of the asset)')
    .option('--accept-rendition', 'save a file that is not the original')
    .option('-d, --directory <dir>', 'directory for the files, which it creates (.)')
    .option('--flatten', 'without the subfolders of a folder')
    .option('--transfers <number>', 'number of concurrent downloads', '4');
  const filtered = withFilters(described, collection);
  if (collection === 'assets') filtered.option(...pickOption);
  return filtered
    .option(...newestOption)
    .addOption(new Option('--progress <mode>', 'how to show progress').choices(progressModes).default('auto' as const));
}

/** Filters need no ids, so that an only directory beside them is where the files are saved. */
async function parseDownloadRequest(
  context: Context,
  { collection, ids: typed }: Pick<DownloadRequest, 'collection' | 'ids'>,
  flags: FlagsOf<typeof addDownloadOptions> & { pick?: true | undefined },
): Promise<DownloadRequest> {
  const { output, newest, progress } = flags;
  const lanes = parseCount('--transfers', flags.transfers, 1);
  const filters = await parseFilters(context, flags);
  const [only, ...others] = flags.directory === undefined && hasFilters(filters) ? typed : [];
  const isTarget = only !== undefined && others.length === 0 && (await isDirectory(only));
  const { directory = isTarget ? only : '' } = flags;
  const ids = isTarget ? [] : typed;
  if (output !== undefined && directory !== '') throw usageError('--output and --directory cannot be used together');
  const { acceptRendition: acceptsRendition = false, flatten: isFlat = false, pick: picks } = flags;
  return { collection, ids, filters, picks, newest, output, directory, isFlat, lanes, progress, acceptsRendition };
}

async function runDownload(context: Context, request: DownloadRequest) {
  const { ids, output, directory } = request;
  const parts = await selectParts(context, request).catch((error) => suggestOutput(error, ids));
  const targets = parts.flatMap((part) => part.targets);
  const byFilter = parts.some((part) => part.byFilter);
  if (output !== undefined && (byFilter || targets.length > 1))
    throw usageError('--output accepts one asset', '-d DIRECTORY for several');
  if (directory !== '' && !context.settings.dryRun) await makeFolder(directory, '-d DIRECTORY');
  const [only] = targets;
  if (only && targets.length === 1 && !byFilter) return downloadOne(context, request, only);
  const unknownCount = parts.reduce((sum, part) => sum + part.unknownCount, 0);
  return downloadMany(context, request, { parts, unknownCount });
}

/** @property byFilter true if not each asset was named */
type SelectedPart = DownloadPart & { byFilter: boolean; unknownCount: number };

/** Selects folders and globs, whose files are compared with those of earlier downloads, and all other ids together. */
async function selectParts(
  context: Context,
  { ids, directory, collection, filters, newest, picks }: DownloadRequest,
): Promise<SelectedPart[]> {
  const selection = { verb: 'download', collection, filters, limit: noLimit, newest, picks } as const;
  const selectIds = async (some: readonly string[], source: string | null) => ({
    source,
    ...(await resolveTargets(context, { ...selection, ids: some })),
  });
  const parts: SelectedPart[] = [];
  const others: string[] = [];
  for (const id of ids) {
    const path = collection === 'assets' && isLibraryPath(id) ? normalizePath(withoutFolderPrefix(id)) : undefined;
    const folders = path === undefined || directory === '' ? undefined : await foldersAt(context, path);
    if (folders) {
      const ports = selectionPorts(context, collection, {});
      const { part, unknownCount } = await partOfFolder(await context.library(), folders, ports);
      parts.push({ ...part, unknownCount, byFilter: true });
    } else if (path !== undefined && isGlob(path)) parts.push(await selectIds([id], path));
    else others.push(id);
  }
  return others.length > 0 || parts.length === 0 ? [...parts, await selectIds(others, null)] : parts;
}

async function foldersAt(context: Context, path: string): Promise<readonly FolderNode[] | 'top' | undefined> {
  if (path === '/') return 'top';
  const found = (await fetchFolderTree(context)).tree.findByPath(path);
  return found.length > 0 ? found : undefined;
}

/** Adds the hint to use -o if the last id is not an asset, as in `download clip.mp4 out.mp4`, or -d for a folder. */
function suggestOutput(error: unknown, ids: readonly string[]): never {
  if (!(error instanceof NoAssetError)) throw error;
  const [id = '', last = ''] = ids;
  if (error.isFolder) throw error.with({ hint: `mediactl download ${quoteForShell(error.typed)} -d DIRECTORY` });
  throw ids.length === 2 && error.typed === last
    ? error.with({ hint: `mediactl download ${quoteForShell(id)} -o ${quoteForShell(last)}` })
    : error;
}

async function downloadOne(context: Context, request: DownloadRequest, target: SelectedAsset) {
  const { collection, output, directory, progress, acceptsRendition } = request;
  const { [collection]: assets } = await context.api();
  const asset = await readFileRecord(assets, target);
  const media = await findDownload(await mediaFinder(context), asset, acceptsRendition);
  const path = output ?? inDirectory(directory, await assetFileName(asset));
  if (context.isDryRun(`save ${media.url.origin}${media.url.pathname} as ${path}`)) return noResult;
  const display = await createProgress(context, progress);
  const isNewName = output === undefined;
  const saved = await saveOne(context, media, { path, progress: display, isNewName }).finally(() => display.close());
  if (!saved) return noResult;
  const { asset_uid, path: savedPath, size_bytes, verified = null } = saved;
  return context.isMachineReadable
    ? downloadList([{ asset_uid, path: savedPath, size_bytes, verified, outcome: 'downloaded', error: null }])
    : savedRecord(saved);
}
