import { lstat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { usageError } from '../../../client/errors.ts';
import type { SelectedAsset } from '../../../client/library/select-assets.ts';
import { runEach } from '../../../client/run-each.ts';
import { makeFolder } from '../../../client/state-files.ts';
import type { AssetFilters } from '../../../contract/asset-filters.ts';
import { formatBytes, pluralize } from '../../../contract/figures.ts';
import { asNumber, asText, parseTimestamp } from '../../../contract/json-values.ts';
import type { Collection } from '../../../contract/paths.ts';
import { displayText, escapeControls } from '../../../contract/sanitize.ts';
import type { AssetRecord } from '../../../contract/types.ts';
import type { Context } from '../../context.ts';
import type { ErrorRecord } from '../../error-hints.ts';
import { findDownload } from '../../library/media-download.ts';
import { sizeText } from '../../output/cells.ts';
import { type Column, listBy, noResult, type Result } from '../../output/result.ts';
import { createProgress, type ProgressDisplay, type ProgressMode } from '../../progress/progress.ts';
import type { OutputRecord } from '../../reference/schemas.ts';
import { failureOf } from '../bulk-result.ts';
import { readFileRecord, uniqueFilePaths } from './file-name.ts';
import { isUnchangedDownload, save } from './save.ts';

export type DownloadManyOptions = {
  filters: AssetFilters;
  newest: boolean | undefined;
  /** Path for a single asset; `-` for stdout. */
  output: string | undefined;
  /** Directory for the files; empty for the current one. */
  directory: string;
  /** Number of concurrent downloads. */
  lanes: number;
  progress: ProgressMode;
  acceptsRendition: boolean;
};

/** Assets to download: those with the given ids, or all that match the filters. */
export type DownloadRequest = DownloadManyOptions & { collection: Collection; ids: readonly string[] };

/** Result for one file. `path` is null if the asset could not be read, because its file name is then unknown. */
export type DownloadRecord = OutputRecord<'downloads'>;

/**
 * Downloads assets into a directory. Skips files that are unchanged since an earlier download, and overwrites other
 * files only with --yes.
 */
export async function downloadMany(
  context: Context,
  { collection, directory, lanes, progress: progressMode, acceptsRendition }: DownloadRequest,
  targets: readonly SelectedAsset[],
) {
  if (context.isDryRun(`download ${pluralize(targets.length, 'file')} to ${directory || '.'}`)) return noResult;
  const { [collection]: assets } = await context.api();
  const assetsByUid = new Map<string, AssetRecord>();
  const lookUp = async (target: SelectedAsset) => {
    const found = await readFileRecord(assets, target);
    assetsByUid.set(target.uid, found);
    return found;
  };
  const options = { signal: context.signal, lanes };
  const lookups = await runEach(targets, lookUp, options);
  const files = await assignPaths(assetsByUid, targets, directory);
  const progress = await createProgress(context, progressMode);
  progress.show({ event: 'planned', files_total: files.size, bytes_total: totalBytes(assetsByUid), files_skipped: 0 });
  const resultsByUid = new Map<string, DownloadResult>();
  const downloadFile = async ({ uid }: { uid: string }) => {
    const file = files.get(uid) as DownloadTarget;
    const reportFinished = (outcome: DownloadRecord['outcome']) =>
      progress.show({ path: file.path, event: 'finished', asset_uid: uid, outcome });
    const result = await downloadUnlessPresent(context, file, progress, acceptsRendition).catch((error) => {
      reportFinished('failed');
      throw error;
    });
    resultsByUid.set(uid, result);
    reportFinished(result.outcome);
    return file.asset;
  };
  const found = [...files.keys()].map((uid) => ({ uid }));
  const downloads = await runEach(found, downloadFile, options).finally(() => progress.close());
  const errors = new Map([...lookups, ...downloads].map(({ item, error }) => [item.uid, error]));
  const { redactor } = context.terminal;
  const records = targets.map(({ uid }) =>
    recordOf(uid, files.get(uid), resultsByUid.get(uid), redactor.errorRecord(errors.get(uid))),
  );
  if (records.length > 0) context.terminal.info(summaryOf(records));
  const outcomes = targets.map(({ uid, record }) => ({
    uid,
    name: asText(record?.name) ?? null,
    error: errors.get(uid),
  }));
  return { result: downloadList(records), failure: failureOf(context, outcomes, collection) };
}

type DownloadTarget = { asset: AssetRecord; path: string };
type DownloadResult = Pick<DownloadRecord, 'size_bytes' | 'verified'> & { outcome: 'downloaded' | 'skipped' };

/** Maps each asset's uid to the asset and to a unique path in the directory, with the folders that a glob has matched. */
async function assignPaths(
  assets: ReadonlyMap<string, AssetRecord>,
  targets: readonly SelectedAsset[],
  directory: string,
): Promise<Map<string, DownloadTarget>> {
  const folders = new Map(targets.map(({ uid, relativeDir }) => [uid, relativeDir]));
  const paths = await uniqueFilePaths([...assets].map(([uid, asset]) => ({ asset, folder: folders.get(uid) ?? '' })));
  return new Map([...assets].map(([uid, asset], at) => [uid, { asset, path: join(directory, paths[at] ?? uid) }]));
}

/** Returns the sum of all sizes in bytes, or 0 if any size is unknown. */
function totalBytes(assets: ReadonlyMap<string, AssetRecord>): number {
  const sizes = [...assets.values()].map(({ size }) => asNumber(size) ?? Number.NaN);
  return sizes.reduce((sum, size) => sum + size, 0) || 0;
}

async function downloadUnlessPresent(
  context: Context,
  { asset, path }: DownloadTarget,
  progress: ProgressDisplay,
  acceptsRendition: boolean,
): Promise<DownloadResult> {
  const existing = context.settings.yes ? undefined : await lstat(path).catch(() => undefined);
  const createdAt = parseTimestamp(asset.created_at);
  if (existing && isUnchangedDownload(existing, { assetUid: asset.uid, createdAt }))
    return { outcome: 'skipped', size_bytes: existing.size, verified: null };
  if (existing) throw usageError(`${path} already exists and may be another file`, '--yes overwrites it');
  await makeFolder(dirname(path), '-d DIRECTORY');
  const saved = await save(context, await findDownload(context, asset, acceptsRendition), path, progress);
  return { outcome: 'downloaded', size_bytes: saved?.size_bytes ?? null, verified: saved?.verified ?? null };
}

const recordOf = (
  uid: string,
  file: DownloadTarget | undefined,
  fetched: DownloadResult | undefined,
  error: ErrorRecord | null,
): DownloadRecord => ({
  asset_uid: uid,
  path: file?.path ?? null,
  size_bytes: fetched?.size_bytes ?? null,
  verified: fetched?.verified ?? null,
  outcome: fetched?.outcome ?? 'failed',
  error,
});

function summaryOf(records: readonly DownloadRecord[]): string {
  const downloaded = records.filter(({ outcome }) => outcome === 'downloaded');
  const size = downloaded.reduce((sum, { size_bytes }) => sum + (size_bytes ?? 0), 0);
  const skippedCount = records.filter(({ outcome }) => outcome === 'skipped').length;
  const summary = `${pluralize(downloaded.length, 'file')} downloaded, ${formatBytes(size)}`;
  return skippedCount > 0 ? `${summary}; ${skippedCount} already downloaded` : summary;
}

/** Returns the result for downloaded files. */
export const downloadList = (records: readonly DownloadRecord[]): Result =>
  listBy(({ asset_uid }) => asset_uid, records, columns, 'no assets');

const columns: Column<DownloadRecord>[] = [
  { field: 'asset_uid', value: ({ asset_uid }) => escapeControls(asset_uid), uid: 'asset' },
  { field: 'path', value: ({ path }) => displayText(path), minWidth: 18, isFirst: true },
  {
    field: 'size_bytes',
    value: ({ size_bytes }, shown) => sizeText(size_bytes, shown),
    noTruncate: true,
  },
  {
    field: 'outcome',
    value: ({ outcome, verified, error }, { isTerminal }) =>
      error ? `failed: ${escapeControls(error.message)}` : isTerminal && verified ? `${outcome}, verified` : outcome,
  },
];
