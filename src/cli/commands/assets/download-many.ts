import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { type ErrorRecord, type MediactlError, usageError } from '../../../client/errors.ts';
import { bytes, counted } from '../../../contract/figures.ts';
import type { Collection } from '../../../contract/paths.ts';
import { numberIn, timeIn } from '../../../contract/reading.ts';
import { cell, printable } from '../../../contract/sanitize.ts';
import type { Asset } from '../../../contract/types.ts';
import type { Context } from '../../context.ts';
import { type Column, listBy, nothing } from '../../output/result.ts';
import type { Progress } from '../../progress/progress.ts';
import type { ProgressMode } from '../../progress/progress-modes.ts';
import { openDownloadProgress } from '../progress.ts';
import { failureOf, inLanes } from './bulk.ts';
import { fileNames } from './file-name.ts';
import { isAsSaved, type Media, save } from './save.ts';
import type { Target } from './targets.ts';

type Many = {
  directory: string;
  /** Number of concurrent downloads. */
  lanes: number;
  progress: ProgressMode;
  mediaOf(context: Context, asset: Asset): Promise<Media>;
};

/** Result of one file, as it is printed. */
type DownloadRecord = {
  asset_uid: string;
  /** Null if the asset could not be read, so that it has no file name. */
  path: string | null;
  size_bytes: number | null;
  outcome: 'downloaded' | 'there' | 'failed';
  error: ErrorRecord | null;
};

/** Downloads assets into a directory. Skips unchanged earlier downloads; overwrites other files only with --yes. */
export async function downloadMany(
  context: Context,
  collection: Collection,
  targets: readonly Target[],
  { directory, lanes, progress: asked, mediaOf }: Many,
) {
  if (context.isDryRun(`download ${counted(targets.length, 'file')} to ${directory || '.'}`))
    return nothing;
  const { [collection]: assets } = await context.api();
  const known = new Map<string, Asset>();
  const looked = await inLanes(
    context,
    targets,
    async ({ uid, asset }) => {
      const found = asset ?? (await assets.get(uid));
      known.set(uid, found);
      return found;
    },
    lanes,
  );
  const files = filesOf(known, directory);
  const progress = await openDownloadProgress(context, asked);
  progress.show({ event: 'planned', files: files.size, bytes: totalOf(known), there: 0 });
  const done = new Map<string, Fetched>();
  const fetched = await inLanes(
    context,
    [...files.keys()].map((uid) => ({ uid, name: null })),
    async ({ uid }) => {
      const file = files.get(uid) as File;
      const tell = (outcome: DownloadRecord['outcome']) =>
        progress.show({ path: file.path, event: 'finished', asset_uid: uid, outcome });
      const result = await fetchFile(context, file, progress, mediaOf).catch((error) => {
        tell('failed');
        throw error;
      });
      done.set(uid, result);
      tell(result.outcome);
      return file.asset;
    },
    lanes,
  ).finally(() => progress.close());
  const errors = new Map([...looked, ...fetched].map(({ uid, error }) => [uid, error]));
  const records = targets.map(({ uid }) =>
    recordOf(uid, files.get(uid), done.get(uid), errors.get(uid)),
  );
  if (records.length > 0) context.terminal.say(summaryOf(records));
  const outcomes = targets.map(({ uid, name }) => ({ uid, name, error: errors.get(uid) }));
  const result = listBy(({ path }) => path ?? '', records, columns, `no ${collection}`);
  return { result, failure: failureOf(context, outcomes, collection) };
}

type File = { asset: Asset; path: string };
type Fetched = Pick<DownloadRecord, 'size_bytes'> & { outcome: 'downloaded' | 'there' };

/** Assigns each asset a unique path in the directory, by uid. */
function filesOf(assets: ReadonlyMap<string, Asset>, directory: string): Map<string, File> {
  const names = fileNames([...assets.values()]);
  return new Map(
    [...assets].map(([uid, asset], at) => [
      uid,
      { asset, path: join(directory, names[at] ?? uid) },
    ]),
  );
}

/** Returns the sum of all sizes in bytes, or 0 if any size is unknown. */
function totalOf(assets: ReadonlyMap<string, Asset>): number {
  const sizes = [...assets.values()].map(({ size }) => numberIn(size) ?? Number.NaN);
  return sizes.reduce((sum, size) => sum + size, 0) || 0;
}

async function fetchFile(
  context: Context,
  { asset, path }: File,
  progress: Progress,
  mediaOf: Many['mediaOf'],
): Promise<Fetched> {
  const there = context.settings.yes ? undefined : await lstat(path).catch(() => undefined);
  const createdAt = timeIn(asset.created_at);
  if (there && isAsSaved(there, { assetUid: asset.uid, createdAt }))
    return { outcome: 'there', size_bytes: there.size };
  if (there)
    throw usageError(`${path} is there already, and may be another file`, '--yes replaces it');
  const saved = await save(context, await mediaOf(context, asset), path, progress);
  return { outcome: 'downloaded', size_bytes: saved?.size_bytes ?? null };
}

const recordOf = (
  uid: string,
  file: File | undefined,
  fetched: Fetched | undefined,
  error: MediactlError | undefined,
): DownloadRecord => ({
  asset_uid: uid,
  path: file?.path ?? null,
  size_bytes: fetched?.size_bytes ?? null,
  outcome: fetched?.outcome ?? 'failed',
  error: error?.toJSON() ?? null,
});

function summaryOf(records: readonly DownloadRecord[]): string {
  const of = (wanted: DownloadRecord['outcome']) =>
    records.filter(({ outcome }) => outcome === wanted);
  const size = of('downloaded').reduce((sum, { size_bytes }) => sum + (size_bytes ?? 0), 0);
  const there = of('there').length;
  const said = `${counted(of('downloaded').length, 'file')} downloaded, ${bytes(size)}`;
  return there > 0 ? `${said}; ${there} already there` : said;
}

const columns: Column<DownloadRecord>[] = [
  { header: 'ASSET', value: ({ asset_uid }) => printable(asset_uid), uid: 'asset' },
  { header: 'PATH', value: ({ path }) => cell(path), least: 18, leads: true },
  {
    header: 'SIZE',
    value: ({ size_bytes: size }, { isTerminal }) =>
      size === null ? '' : isTerminal ? bytes(size) : String(size),
    whole: true,
  },
  {
    header: 'RESULT',
    value: ({ outcome, error }) => (error ? `failed: ${printable(error.message)}` : outcome),
  },
];
