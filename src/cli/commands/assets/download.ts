import { join } from 'node:path';
import { type Command, Option } from '@commander-js/extra-typings';
import { type ExpectedFile, isGenericType, isTextType } from '../../../client/api/download.ts';
import { usageError } from '../../../client/errors.ts';
import { makeFolder } from '../../../client/state-files.ts';
import { asNumber, asText, parseTimestamp } from '../../../contract/json-values.ts';
import type { Collection } from '../../../contract/paths.ts';
import type { Asset } from '../../../contract/types.ts';
import type { Context } from '../../context.ts';
import { idHelp, newestOption } from '../../library/asset-ids.ts';
import { type Playable, parsePlayables, sizesUnknownError } from '../../library/playables.ts';
import { assertNotBlocked, explainUnplayable, nothingToPlayError, resolvePlayback } from '../../library/playback.ts';
import { noResult } from '../../output/result.ts';
import { progressModes } from '../../progress/progress-modes.ts';
import { parseCount } from '../../settings/units.ts';
import { type ActionWrapper, addExamples } from '../command.ts';
import { parseFilters, withFilters } from '../filters.ts';
import { openDownloadProgress } from '../progress.ts';
import { downloadMany } from './download-many.ts';
import { assetFileName } from './file-name.ts';
import { type MediaDownload, save, savedRecord } from './save.ts';
import { resolveTargets } from './targets.ts';

/**
 * Returns the expected size and type of the file. For audio, images, and documents, the service might send a
 * rendition instead of the original file.
 */
function expectedOf({ size, content_type }: Asset, { kind }: Playable, playbackType: unknown): ExpectedFile {
  const recorded = asText(content_type);
  const type = recorded && isGenericType(recorded) ? undefined : recorded;
  return {
    sizeBytes: asNumber(size),
    contentType: recorded,
    mayBeRendition: kind !== 'file' || playbackType === 'audio',
    mayBeText: kind === 'document' && (type === undefined || isTextType(type)),
    mayBeHtml: kind === 'document' && /html/i.test(type ?? 'html'),
  };
}

/** Kinds of sources that are one complete file, unlike an HLS playlist or an embed page. */
const downloadableKinds: readonly Playable['kind'][] = ['file', 'image', 'document'];

export function download(command: Command, run: ActionWrapper, collection: Collection): void {
  addExamples(
    command,
    `mediactl ${collection} download @last -o master.mp4`,
    `mediactl ${collection} download --tag dailies --created-after 1d -d ./dailies`,
    `mediactl ${collection} ls --status ready -q | mediactl ${collection} download - -d ./all`,
  );
  const described = command
    .summary('download the file of an asset, or of many')
    .description(
      `Downloads the source of a video or audio, the largest variant of an image, or a document. A broken download continues where it stopped; a file that is there is replaced with --yes only.`,
    )
    .argument('[id...]', `${idHelp}; - for stdin`)
    .option('-o, --output <file>', 'where to; - for stdout (the asset’s name by default)')
    .option('-d, --directory <dir>', 'directory for the files, made if missing (this one)')
    .option('--parallel <number>', 'files at once', '4');
  withFilters(described, collection)
    .option(...newestOption)
    .addOption(new Option('--progress <form>', 'what to show').choices(progressModes).default('auto' as const))
    .action(
      run(async (context, ids, options) => {
        const { output, directory = '', parallel, progress: progressMode } = options;
        const lanes = parseCount('--parallel', parallel, 1);
        const filters = await parseFilters(context, options);
        const noLimit = { flag: '', count: Number.POSITIVE_INFINITY, isTyped: false };
        if (output !== undefined && options.directory !== undefined)
          throw usageError('--output and --directory cannot be used together');
        const request = { collection, ids, filters, limit: noLimit, newest: options.newest };
        const { targets, byFilter } = await resolveTargets(context, { verb: 'download', ...request });
        if (output !== undefined && (byFilter || targets.length > 1))
          throw usageError('--output is for one asset that is named', '-d DIRECTORY, for many');
        if (directory !== '' && !context.settings.dryRun) await makeFolder(directory, '-d DIRECTORY');
        const [only] = targets;
        if (only && targets.length === 1 && !byFilter) {
          const asset = await (await context.api())[collection].get(only.uid);
          const media = await resolveDownload(context, asset);
          const path = output ?? join(directory, assetFileName(asset));
          if (context.isDryRun(`save ${media.url.origin}${media.url.pathname} as ${path}`)) return noResult;
          const progress = await openDownloadProgress(context, progressMode);
          try {
            const saved = await save(context, media, path, progress);
            return saved ? savedRecord(saved) : noResult;
          } finally {
            progress.close();
          }
        }
        const many = { directory, lanes, progress: progressMode, resolveDownload };
        return downloadMany(context, collection, targets, many);
      }),
    );
}

/** Returns the media file to download for an asset. @throws MediactlError if it has none */
async function resolveDownload(context: Context, asset: Asset): Promise<MediaDownload> {
  const { uid } = asset;
  const { transport } = await context.api();
  const playback = await resolvePlayback(context, uid);
  const { info } = playback;
  await assertNotBlocked(context, uid, playback);
  const { urls, isSorted, unusable } = parsePlayables(info, transport.baseUrl);
  const [source] = urls.filter(({ kind }) => downloadableKinds.includes(kind));
  if (!source) {
    const nothing = nothingToPlayError(uid, info, unusable, 'file');
    throw await explainUnplayable(context, uid, playback, nothing);
  }
  if (source.kind === 'image' && !isSorted) throw sizesUnknownError(uid);
  const expected = expectedOf(asset, source, info.type);
  return { assetUid: uid, url: source.url, expected, createdAt: parseTimestamp(asset.created_at) };
}
