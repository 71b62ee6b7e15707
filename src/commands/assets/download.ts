import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Command, Option } from '@commander-js/extra-typings';
import { type Expected, isAnyType, isTextType } from '../../api/download.ts';
import type { Context } from '../../context.ts';
import { type ErrorRecord, usageError } from '../../errors.ts';
import { makeFolder } from '../../folders.ts';
import { idHelp, newestOption } from '../../library/assets.ts';
import { type Playable, playables, sizesUnknown } from '../../library/playables.ts';
import { assertNotBlocked, nothingToPlay, resolvePlayback } from '../../library/playback.ts';
import { parseCount } from '../../settings/units.ts';
import { bytes, counted } from '../../terminal/figures.ts';
import { printable } from '../../terminal/printable.ts';
import { openProgress, type Progress } from '../../terminal/progress.ts';
import { type ProgressMode, progressModes } from '../../terminal/progress-modes.ts';
import { type Column, listBy, nothing } from '../../terminal/result.ts';
import type { Collection } from '../../wire/paths.ts';
import { numberIn, textIn } from '../../wire/reading.ts';
import type { Asset } from '../../wire/types.ts';
import { example, type Run } from '../command.ts';
import { failureOf, writeEach } from './bulk.ts';
import { fileNameFor, unlikeOthers } from './file-name.ts';
import { filtersOf, withFilters } from './filters.ts';
import { type Saved, save, savedRecord } from './save.ts';
import { type Target, targetsOf } from './targets.ts';

/** What the record says of the file; what is offered of a sound, an image or a document may be made from it. */
function expectedOf(
  { size, content_type }: Asset,
  { kind }: Playable,
  playbackType: unknown,
): Expected {
  const recorded = textIn(content_type);
  const type = recorded && isAnyType(recorded) ? undefined : recorded;
  return {
    sizeBytes: numberIn(size),
    contentType: recorded,
    mayBeRendition: kind !== 'file' || playbackType === 'audio',
    mayBeText: kind === 'document' && (type === undefined || isTextType(type)),
    mayBeHtml: kind === 'document' && /html/i.test(type ?? 'html'),
  };
}

/** What is a file, whole: no playlist, no page of somebody else. */
const files: readonly Playable['kind'][] = ['file', 'image', 'document'];

export function download(command: Command, run: Run, collection: Collection): void {
  example(
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
    .addOption(
      new Option('--progress <form>', 'what to show')
        .choices(progressModes)
        .default('auto' as const),
    )
    .action(
      run(async (context, ids, options) => {
        const { output, directory = '', parallel, progress: asked } = options;
        const lanes = parseCount('--parallel', parallel, 1);
        const filters = await filtersOf(context, options);
        const anyCount = { flag: '', count: Number.POSITIVE_INFINITY, isTyped: false };
        const { targets, byFilter } = await targetsOf(
          ...[context, collection, ids, filters, anyCount, options],
        );
        if (output !== undefined && targets.length > 1)
          throw usageError('--output is for one file', '-d DIRECTORY, for many');
        if (directory !== '' && !context.settings.dryRun)
          await makeFolder(directory, '-d DIRECTORY');
        const { settings, terminal, clock } = context;
        const mode = asked === 'auto' && settings.shape.format === 'quiet' ? 'none' : asked;
        const [only] = targets;
        if (only && targets.length === 1 && !byFilter) {
          const source = await sourceOf(context, collection, only.uid);
          const path = output ?? join(directory, fileNameFor(source.asset.name, only.uid, null));
          const { media } = source;
          if (context.isDryRun(`save ${media.url.origin}${media.url.pathname} as ${path}`))
            return nothing;
          const progress = await openProgress(mode, terminal, clock, () => undefined);
          try {
            const saved = await save(context, media, path, progress);
            return saved ? savedRecord(saved) : nothing;
          } finally {
            progress.close();
          }
        }
        return downloadMany(context, collection, targets, { directory, lanes, mode });
      }),
    );
}

/** What is to be fetched of an asset. @throws MediactlError where nothing can be */
async function sourceOf(context: Context, collection: Collection, uid: string) {
  const api = await context.api();
  const asset = await api[collection].get(uid);
  const { info } = await resolvePlayback(context, uid);
  assertNotBlocked(uid, info);
  const { found, areOrdered, unusable } = playables(info, api.transport.baseUrl);
  const [source] = found.filter(({ kind }) => files.includes(kind));
  if (!source) throw nothingToPlay(uid, info, unusable, 'file');
  if (source.kind === 'image' && !areOrdered) throw sizesUnknown(uid);
  const expected = expectedOf(asset, source, info.type);
  return { asset, media: { assetUid: uid, url: source.url, expected } };
}

type Many = { directory: string; lanes: number; mode: ProgressMode };

/** One of many, as it is printed. */
type DownloadRecord = Saved & {
  outcome: 'downloaded' | 'there' | 'failed';
  error: ErrorRecord | null;
};

async function downloadMany(
  context: Context,
  collection: Collection,
  targets: readonly Target[],
  { directory, lanes, mode }: Many,
) {
  const { terminal, clock, settings } = context;
  if (context.isDryRun(`download ${counted(targets.length, 'file')} to ${directory || '.'}`))
    return nothing;
  const progress = await openProgress(mode, terminal, clock, () => undefined);
  const sizes = targets.map(({ asset }) => numberIn(asset?.size));
  const isKnown = sizes.every((size) => size !== undefined);
  const total = isKnown ? sizes.reduce((sum: number, size) => sum + (size ?? 0), 0) : 0;
  progress.show({ event: 'planned', files: targets.length, bytes: total, there: 0 });
  const nameOf = unlikeOthers();
  const records = new Map<string, DownloadRecord>();
  const one = async ({ uid }: Target) => {
    const { asset, media } = await sourceOf(context, collection, uid);
    const path = join(directory, nameOf(fileNameFor(asset.name, uid, null), uid));
    const there = await stat(path).catch(() => undefined);
    const isThere = !settings.yes && there?.isFile() && there.size === numberIn(asset.size);
    const saved = isThere ? undefined : await save(context, media, path, progress, 'never ask');
    records.set(uid, {
      ...(saved ?? { asset_uid: uid, path, size_bytes: there?.size ?? 0, content_type: null }),
      outcome: isThere ? 'there' : 'downloaded',
      error: null,
    });
    finished(progress, path, uid, isThere ? 'there' : 'downloaded');
    return asset;
  };
  const told = (target: Target) =>
    one(target).catch((error) => {
      finished(progress, target.uid, target.uid, 'failed');
      throw error;
    });
  const outcomes = await writeEach(context, targets, told, lanes).finally(() => progress.close());
  const all = outcomes.map(({ uid, error }): DownloadRecord => {
    const failed = { asset_uid: uid, path: '', size_bytes: 0, content_type: null };
    const whole = records.get(uid) ?? { ...failed, outcome: 'failed' };
    return { ...whole, error: error?.toJSON() ?? null };
  });
  const saved = all.filter(({ outcome }) => outcome === 'downloaded');
  const size = saved.reduce((sum, { size_bytes }) => sum + size_bytes, 0);
  const there = all.filter(({ outcome }) => outcome === 'there').length;
  terminal.say(
    `${counted(saved.length, 'file')} downloaded, ${bytes(size)}${there > 0 ? `; ${there} there already` : ''}`,
  );
  const result = listBy(({ path }) => path, all, columns, `no ${collection}`);
  return { result, failure: failureOf(context, outcomes, collection) };
}

const finished = (
  progress: Progress,
  path: string,
  uid: string,
  outcome: DownloadRecord['outcome'],
) =>
  progress.show({
    ...{ path, event: 'finished', asset_uid: uid },
    outcome,
  });

const columns: Column<DownloadRecord>[] = [
  { header: 'ASSET', value: ({ asset_uid }) => printable(asset_uid), uid: 'asset' },
  { header: 'PATH', value: ({ path }) => printable(path), least: 18, leads: true },
  {
    header: 'SIZE',
    value: ({ size_bytes: size }, { isTerminal }) => (isTerminal ? bytes(size) : String(size)),
    whole: true,
  },
  {
    header: 'RESULT',
    value: ({ outcome, error }) => (error ? `failed: ${printable(error.message)}` : outcome),
  },
];
