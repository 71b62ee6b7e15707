import { type Command, Option } from '@commander-js/extra-typings';
import { usageError } from '../../../client/errors.ts';
import { escapeGlob, isGlob } from '../../../client/glob.ts';
import { normalizePath } from '../../../client/library/folder-tree.ts';
import { isLibraryPath, withoutFolderPrefix } from '../../../client/library/library-paths.ts';
import type { SelectedAsset } from '../../../client/library/select-assets.ts';
import { makeFolder } from '../../../client/state-files.ts';
import type { Collection } from '../../../contract/paths.ts';
import { quoteForShell } from '../../../contract/sanitize.ts';
import { type ActionWrapper, addExamples } from '../../command.ts';
import type { Context } from '../../context.ts';
import { idsHelp, newestOption } from '../../library/asset-ids.ts';
import { fetchFolderTree } from '../../library/folders.ts';
import { findDownload } from '../../library/media-download.ts';
import { NoAssetError } from '../../library/no-asset-error.ts';
import { noResult } from '../../output/result.ts';
import { createProgress, type ProgressMode, progressModes } from '../../progress/progress.ts';
import { parseCount } from '../../settings/units.ts';
import { type FilterOptions, parseFilters, withFilters } from '../filters.ts';
import { resolveTargets } from './bulk.ts';
import { downloadList, downloadMany } from './download-many.ts';
import type { DownloadManyOptions, DownloadPart, DownloadRequest } from './download-plan.ts';
import { assetFileName, inDirectory, readFileRecord } from './file-name.ts';
import { save, savedRecord } from './save.ts';

export function download(command: Command, run: ActionWrapper, collection: Collection): void {
  addExamples(
    command,
    `mediactl ${collection} download @last -o master.mp4`,
    ...(collection === 'assets' ? ['mediactl download /Campaigns/2026 -d ./campaign'] : []),
    `mediactl ${collection} download --tag dailies --created-after 1d -d ./dailies`,
  );
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
  withFilters(described, collection)
    .option(...newestOption)
    .addOption(new Option('--progress <mode>', 'how to show progress').choices(progressModes).default('auto' as const))
    .action(
      run(async (context, ids, flags) =>
        runDownload(context, { ...(await parseDownloadOptions(context, flags)), collection, ids }),
      ),
    );
}

type DownloadFlags = FilterOptions & {
  output?: string | undefined;
  directory?: string | undefined;
  flatten?: true | undefined;
  transfers: string;
  newest?: boolean | undefined;
  acceptRendition?: true | undefined;
  progress: ProgressMode;
};

async function parseDownloadOptions(context: Context, flags: DownloadFlags): Promise<DownloadManyOptions> {
  const { output, directory = '', newest, progress } = flags;
  const lanes = parseCount('--transfers', flags.transfers, 1);
  const filters = await parseFilters(context, flags);
  if (output !== undefined && flags.directory !== undefined)
    throw usageError('--output and --directory cannot be used together');
  const { acceptRendition: acceptsRendition = false, flatten: isFlat = false } = flags;
  return { filters, newest, output, directory, isFlat, lanes, progress, acceptsRendition };
}

async function runDownload(context: Context, request: DownloadRequest) {
  const { ids, output, directory } = request;
  const parts: DownloadPart[] = [];
  let byFilter = false;
  for (const part of await splitIds(context, request)) {
    const selected = await selectPart(context, request, part).catch((error) => suggestOutput(error, ids));
    byFilter ||= selected.byFilter;
    parts.push({ source: part.source, targets: selected.targets });
  }
  const targets = parts.flatMap((part) => part.targets);
  if (output !== undefined && (byFilter || targets.length > 1))
    throw usageError('--output accepts one asset', '-d DIRECTORY for several');
  if (directory !== '' && !context.settings.dryRun) await makeFolder(directory, '-d DIRECTORY');
  const [only] = targets;
  return only && targets.length === 1 && !byFilter
    ? downloadOne(context, request, only)
    : downloadMany(context, request, parts);
}

/** Ids to select together. @property isFolder true for all that is in a folder, which may be empty */
type IdsOfPart = { ids: readonly string[]; source: string | null; isFolder?: boolean };

/** Splits ids into folders and globs, whose files are compared with those of earlier downloads, and all others. */
async function splitIds(context: Context, { ids, directory, collection }: DownloadRequest): Promise<IdsOfPart[]> {
  const parts: IdsOfPart[] = [];
  const others: string[] = [];
  for (const id of ids) {
    const path = collection === 'assets' && isLibraryPath(id) ? normalizePath(withoutFolderPrefix(id)) : undefined;
    if (path !== undefined && isGlob(path)) parts.push({ ids: [id], source: path });
    else if (path !== undefined && directory !== '' && (await isFolder(context, path))) {
      const glob = path === '/' ? '/**' : `${escapeGlob(path)}/**`;
      parts.push({ ids: [glob], source: glob, isFolder: true });
    } else others.push(id);
  }
  return others.length > 0 || parts.length === 0 ? [...parts, { ids: others, source: null }] : parts;
}

const isFolder = async (context: Context, path: string) =>
  path === '/' || (await fetchFolderTree(context)).tree.findByPath(path).length > 0;

async function selectPart(context: Context, { collection, filters, newest }: DownloadRequest, part: IdsOfPart) {
  const limit = { count: Number.POSITIVE_INFINITY, isTyped: false };
  const selection = { verb: 'download', collection, ids: part.ids, filters, limit, newest } as const;
  const selected = await resolveTargets(context, selection).catch((error) => {
    if (part.isFolder && error instanceof NoAssetError) return { targets: [], byFilter: true };
    throw error;
  });
  return part.isFolder ? { ...selected, byFilter: true } : selected;
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
  const media = await findDownload(context, asset, acceptsRendition);
  const path = output ?? inDirectory(directory, await assetFileName(asset));
  if (context.isDryRun(`save ${media.url.origin}${media.url.pathname} as ${path}`)) return noResult;
  const display = await createProgress(context, progress);
  const isNewName = output === undefined;
  const saved = await save(context, media, { path, progress: display, isNewName }).finally(() => display.close());
  if (!saved) return noResult;
  const { asset_uid, path: savedPath, size_bytes, verified = null } = saved;
  return context.isMachineReadable
    ? downloadList([{ asset_uid, path: savedPath, size_bytes, verified, outcome: 'downloaded', error: null }])
    : savedRecord(saved);
}
