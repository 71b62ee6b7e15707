import { join } from 'node:path';
import { type Command, Option } from '@commander-js/extra-typings';
import { usageError } from '../../../client/errors.ts';
import type { SelectedAsset } from '../../../client/library/select-assets.ts';
import { makeFolder } from '../../../client/state-files.ts';
import type { Collection } from '../../../contract/paths.ts';
import { quoteForShell } from '../../../contract/sanitize.ts';
import { type ActionWrapper, addExamples } from '../../command.ts';
import type { Context } from '../../context.ts';
import { idsHelp, newestOption } from '../../library/asset-ids.ts';
import { findDownload } from '../../library/media-download.ts';
import { NoAssetError } from '../../library/no-asset-error.ts';
import { noResult } from '../../output/result.ts';
import { createProgress, type ProgressMode, progressModes } from '../../progress/progress.ts';
import { parseCount } from '../../settings/units.ts';
import { type FilterOptions, parseFilters, withFilters } from '../filters.ts';
import { resolveTargets } from './bulk.ts';
import { type DownloadManyOptions, type DownloadRequest, downloadList, downloadMany } from './download-many.ts';
import { assetFileName, readFileRecord } from './file-name.ts';
import { save, savedRecord } from './save.ts';

export function download(command: Command, run: ActionWrapper, collection: Collection): void {
  addExamples(
    command,
    `mediactl ${collection} download @last -o master.mp4`,
    ...(collection === 'assets' ? ["mediactl download '/Campaigns/2026/**' -d ./campaign"] : []),
    `mediactl ${collection} download --tag dailies --created-after 1d -d ./dailies`,
    `mediactl ${collection} ls --status ready -q | mediactl ${collection} download - -d ./all`,
  );
  const described = command
    .description(
      'Downloads the file of a video, audio or document, or the largest variant of an image. Compares it by BLAKE3 with what this machine uploaded; otherwise it may be a rendition. A glob with ** keeps the folders. Run it again for the files that are missing. Existing files are replaced only with --yes.',
    )
    .argument('[id...]', idsHelp)
    .option('-o, --output <file>', 'file to write; - for stdout (default: the name of the asset)')
    .option('--accept-rendition', 'save a file that is not the original')
    .option('-d, --directory <dir>', 'directory to write files to; created if it does not exist (.)')
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
  transfers: string;
  newest?: boolean | undefined;
  acceptRendition?: boolean | undefined;
  progress: ProgressMode;
};

async function parseDownloadOptions(context: Context, flags: DownloadFlags): Promise<DownloadManyOptions> {
  const { output, directory = '', newest, progress } = flags;
  const lanes = parseCount('--transfers', flags.transfers, 1);
  const filters = await parseFilters(context, flags);
  if (output !== undefined && flags.directory !== undefined)
    throw usageError('--output and --directory cannot be used together');
  return { filters, newest, output, directory, lanes, progress, acceptsRendition: flags.acceptRendition ?? false };
}

async function runDownload(context: Context, request: DownloadRequest) {
  const { collection, ids, filters, newest, output, directory } = request;
  const noLimit = { count: Number.POSITIVE_INFINITY, isTyped: false };
  const selection = { verb: 'download', collection, ids, filters, limit: noLimit, newest } as const;
  const { targets, byFilter } = await resolveTargets(context, selection).catch((error) => suggestOutput(error, ids));
  if (output !== undefined && (byFilter || targets.length > 1))
    throw usageError('--output accepts one asset', '-d DIRECTORY for several');
  if (directory !== '' && !context.settings.dryRun) await makeFolder(directory, '-d DIRECTORY');
  const [only] = targets;
  return only && targets.length === 1 && !byFilter
    ? downloadOne(context, request, only)
    : downloadMany(context, request, targets);
}

/** Adds the hint to use -o if the last id is not an asset, as in `download clip.mp4 out.mp4`, or -d for a folder. */
function suggestOutput(error: unknown, ids: readonly string[]): never {
  if (!(error instanceof NoAssetError)) throw error;
  const [id = '', last = ''] = ids;
  if (error.isFolder)
    throw error.with({ hint: `mediactl download ${quoteForShell(`${error.typed}/**`)} -d DIRECTORY` });
  throw ids.length === 2 && error.typed === last
    ? error.with({ hint: `mediactl download ${quoteForShell(id)} -o ${quoteForShell(last)}` })
    : error;
}

async function downloadOne(context: Context, request: DownloadRequest, target: SelectedAsset) {
  const { collection, output, directory, progress, acceptsRendition } = request;
  const { [collection]: assets } = await context.api();
  const asset = await readFileRecord(assets, target);
  const media = await findDownload(context, asset, acceptsRendition);
  const path = output ?? join(directory, await assetFileName(asset));
  if (context.isDryRun(`save ${media.url.origin}${media.url.pathname} as ${path}`)) return noResult;
  const display = await createProgress(context, progress);
  const saved = await save(context, media, path, display).finally(() => display.close());
  if (!saved) return noResult;
  const { asset_uid, path: savedPath, size_bytes, verified = null } = saved;
  return context.isMachineReadable
    ? downloadList([{ asset_uid, path: savedPath, size_bytes, verified, outcome: 'downloaded', error: null }])
    : savedRecord(saved);
}
