import {
  type DownloadResult,
  describeReplaced,
  downloadPlanned,
  filesToFetch,
  findGone,
} from '../../../client/download/download-files.ts';
import {
  type DownloadPart,
  type DownloadPlan,
  describeChangedNames,
  type PlannedDownload,
  type PlanRequest,
  planDownloads,
} from '../../../client/download/download-plan.ts';
import { usageError } from '../../../client/errors.ts';
import type { DownloadReceipt } from '../../../client/library/download-receipts.ts';
import type { AssetFilters } from '../../../contract/asset-filters.ts';
import { capitalize, formatBytes, pluralize } from '../../../shared/figures.ts';
import { asNumber, asText } from '../../../shared/json-values.ts';
import { escapeControls } from '../../../shared/sanitize.ts';
import type { Context } from '../../context.ts';
import { openReceipts, savePorts } from '../../library/transfer-ports.ts';
import { type Column, listBy, noResult, type Result } from '../../output/result.ts';
import { createProgress, type ProgressMode } from '../../progress/progress.ts';
import type { OutputRecord } from '../../reference/schemas.ts';
import { confirm } from '../../terminal/prompt.ts';
import { failureOf } from '../bulk-result.ts';

export type DownloadRequest = PlanRequest & {
  ids: readonly string[];
  filters: AssetFilters;
  picks: boolean | undefined;
  newest: boolean | undefined;
  /** Path for a single asset; `-` for stdout. */
  output: string | undefined;
  progress: ProgressMode;
};

/** Result for one file. `path` is null if the asset could not be read, because its file name is then unknown. */
export type DownloadRecord = OutputRecord<'downloads'>;

/**
 * Downloads assets into a directory, with the folders of a glob. Leaves files that are unchanged since an earlier
 * download, replaces such a file if the library has another asset in its place, and others only with --yes.
 */
export async function downloadMany(
  context: Context,
  request: DownloadRequest,
  { parts, unknownCount }: { parts: readonly DownloadPart[]; unknownCount: number },
) {
  const { directory, progress: progressMode } = request;
  const receipts = await openReceipts(context);
  const plan = await planDownloads({ library: await context.library(), receipts }, request, parts);
  const { files } = plan;
  const toFetch = filesToFetch(plan);
  const place = escapeControls(directory || '.');
  const there = files.size > toFetch.length ? `; ${pluralize(files.size - toFetch.length, 'file')} already there` : '';
  const changed = describeChangedNames(plan);
  if (changed !== undefined) context.terminal.warn(changed);
  await assertReplacesNothing(context, plan, unknownCount);
  if (context.isDryRun(`download ${pluralize(toFetch.length, 'file')} to ${place}${there}`)) return noResult;
  const progress = await createProgress(context, progressMode);
  progress.show({
    event: 'planned',
    files_total: toFetch.length,
    bytes_total: totalBytes(toFetch),
    files_skipped: files.size - toFetch.length,
  });
  const ports = await savePorts(context, { option: '-d', progress, receipts });
  const onDone = ({ path, uid }: PlannedDownload, { outcome }: DownloadResult) =>
    progress.show({ path, event: 'finished', asset_uid: uid, outcome });
  const results = await downloadPlanned({ ...ports, onDone }, plan).finally(() => progress.close());
  const { redactor } = context.terminal;
  const targets = parts.flatMap((part) => part.targets);
  const errorOf = (uid: string) => {
    const result = results.get(uid);
    return result?.outcome === 'failed' ? result.error : undefined;
  };
  const records = targets.map(
    ({ uid }): DownloadRecord => ({
      asset_uid: uid,
      path: files.get(uid)?.path ?? null,
      ...shownOf(results.get(uid)),
      error: redactor.errorRecord(errorOf(uid)),
    }),
  );
  const gone = (await findGone(plan, receipts)).map(goneRecord);
  if (records.length + gone.length > 0) context.terminal.info(summaryOf(records, gone));
  const outcomes = targets.map(({ uid, record }) => ({
    uid,
    name: asText(record?.name) ?? null,
    error: errorOf(uid),
  }));
  return { result: downloadList([...records, ...gone]), failure: failureOf(context, outcomes, request.collection) };
}

/**
 * Asks before files are replaced by assets that may be in any workspace.
 *
 * @throws CodedError `usage` (exit 2) if it may not ask
 */
async function assertReplacesNothing(context: Context, plan: DownloadPlan, unknownCount: number): Promise<void> {
  const problem = await describeReplaced(plan, unknownCount);
  if (problem === undefined) return;
  if (!context.terminal.isInteractive || context.settings.yes)
    throw usageError(problem, '-d DIRECTORY, to save them in a new one; or use uids or a folder');
  await confirm(context, `${capitalize(problem)}. Continue?`);
}

/** Returns the sum of all sizes in bytes, or 0 if any size is unknown. */
function totalBytes(files: readonly PlannedDownload[]): number {
  const sizes = files.map(({ asset }) => asNumber(asset.size) ?? Number.NaN);
  return sizes.reduce((sum, size) => sum + size, 0) || 0;
}

const goneRecord = ({ assetUid, path, sizeBytes, verified }: DownloadReceipt): DownloadRecord => ({
  asset_uid: assetUid,
  path,
  size_bytes: sizeBytes,
  verified,
  outcome: 'not_in_library',
  error: null,
});

function shownOf(result: DownloadResult | undefined): Pick<DownloadRecord, 'outcome' | 'size_bytes' | 'verified'> {
  if (result?.outcome === 'downloaded') {
    const { size_bytes, verified = null } = result.saved;
    return { outcome: 'downloaded', size_bytes, verified };
  }
  if (result?.outcome === 'skipped') {
    const { sizeBytes, verified } = result.present;
    return { outcome: 'skipped', size_bytes: sizeBytes, verified };
  }
  return { outcome: 'failed', size_bytes: null, verified: null };
}

function summaryOf(records: readonly DownloadRecord[], gone: readonly DownloadRecord[]): string {
  const downloaded = records.filter(({ outcome }) => outcome === 'downloaded');
  const size = downloaded.reduce((sum, { size_bytes }) => sum + (size_bytes ?? 0), 0);
  const skippedCount = records.filter(({ outcome }) => outcome === 'skipped').length;
  return [
    `${pluralize(downloaded.length, 'file')} downloaded, ${formatBytes(size)}`,
    ...(skippedCount > 0 ? [`${skippedCount} already downloaded`] : []),
    ...(gone.length > 0 ? [`${gone.length} kept that the library no longer has`] : []),
  ].join('; ');
}

export const downloadList = (records: readonly DownloadRecord[]): Result =>
  listBy(({ asset_uid }) => asset_uid, records, columns, 'no assets');

const columns: Column<DownloadRecord>[] = [
  { field: 'asset_uid', uid: 'asset' },
  { field: 'path', minWidth: 18, isFirst: true },
  { field: 'size_bytes', noTruncate: true },
  {
    field: 'outcome',
    value: ({ outcome, verified, error }, { isTerminal }) =>
      error
        ? `failed: ${escapeControls(error.message)}`
        : outcome === 'not_in_library'
          ? 'no longer in the library'
          : isTerminal && verified
            ? `${outcome}, verified`
            : outcome,
  },
];
