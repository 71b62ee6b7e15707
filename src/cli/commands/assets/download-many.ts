import { lstat, realpath } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { CodedError, usageError } from '../../../client/errors.ts';
import type { DownloadReceipts } from '../../../client/library/download-receipts.ts';
import { fileExists } from '../../../client/local-path.ts';
import { runEach } from '../../../client/run-each.ts';
import { makeFolder } from '../../../client/state-files.ts';
import { isBelow } from '../../../client/upload/decide/missing-files.ts';
import { formatBytes, pluralize } from '../../../contract/figures.ts';
import { asNumber, asText } from '../../../contract/json-values.ts';
import { displayText, escapeControls } from '../../../contract/sanitize.ts';
import { normalizeUid } from '../../../contract/uid.ts';
import type { Context } from '../../context.ts';
import type { ErrorRecord } from '../../error-hints.ts';
import { findDownload } from '../../library/media-download.ts';
import { sizeText } from '../../output/cells.ts';
import { type Column, listBy, noResult, type Result } from '../../output/result.ts';
import { createProgress, type ProgressDisplay } from '../../progress/progress.ts';
import type { OutputRecord } from '../../reference/schemas.ts';
import { failureOf } from '../bulk-result.ts';
import {
  type DownloadPart,
  type DownloadPlan,
  type DownloadRequest,
  type PlannedDownload,
  planDownloads,
} from './download-plan.ts';
import { endDownload, openDownloads, type SavedFile, save } from './save.ts';

/** Result for one file. `path` is null if the asset could not be read, because its file name is then unknown. */
export type DownloadRecord = OutputRecord<'downloads'>;

/**
 * Downloads assets into a directory, with the folders of a glob. Leaves files that are unchanged since an earlier
 * download, replaces such a file if the library has another asset in its place, and others only with --yes.
 */
export async function downloadMany(context: Context, request: DownloadRequest, parts: readonly DownloadPart[]) {
  const { directory, lanes, progress: progressMode, acceptsRendition } = request;
  const receipts = await openDownloads(context);
  const plan = await planDownloads(context, request, { parts, receipts });
  const { files, lookups, root, killed } = plan;
  const toFetch = [...files.values()].filter(({ present }) => !present);
  const place = escapeControls(directory || '.');
  const there = files.size > toFetch.length ? `; ${pluralize(files.size - toFetch.length, 'file')} already there` : '';
  reportChangedNames(context, [...files.values()]);
  if (context.isDryRun(`download ${pluralize(toFetch.length, 'file')} to ${place}${there}`)) return noResult;
  if (receipts) for (const receipt of killed) await endDownload(context, receipts, receipt);
  const progress = await createProgress(context, progressMode);
  progress.show({
    event: 'planned',
    files_total: toFetch.length,
    bytes_total: totalBytes(toFetch),
    files_skipped: files.size - toFetch.length,
  });
  const saved = new Map<string, SavedFile | undefined>();
  const downloadFile = async (file: PlannedDownload) => {
    const finish = (outcome: DownloadRecord['outcome'] & ('downloaded' | 'failed')) =>
      progress.show({ path: file.path, event: 'finished', asset_uid: file.uid, outcome });
    try {
      saved.set(file.uid, await fetchFile(context, file, { root, progress, acceptsRendition }));
      finish('downloaded');
    } catch (error) {
      finish('failed');
      throw error;
    }
  };
  const options = { signal: context.signal, lanes };
  const downloads = await runEach(toFetch, downloadFile, options).finally(() => progress.close());
  const errors = new Map<string, CodedError | undefined>([
    ...lookups.map(({ item, error }) => [item.uid, error] as const),
    ...downloads.map(({ item, error }) => [item.uid, error] as const),
  ]);
  const { redactor } = context.terminal;
  const targets = parts.flatMap((part) => part.targets);
  const records = targets.map(({ uid }) =>
    recordOf(uid, files.get(uid), saved.get(uid), redactor.errorRecord(errors.get(uid))),
  );
  const gone = await findGone(parts, receipts, plan);
  if (records.length + gone.length > 0) context.terminal.info(summaryOf(records, gone));
  const outcomes = targets.map(({ uid, record }) => ({
    uid,
    name: asText(record?.name) ?? null,
    error: errors.get(uid),
  }));
  return { result: downloadList([...records, ...gone]), failure: failureOf(context, outcomes, request.collection) };
}

type FetchOptions = { root: string; progress: ProgressDisplay; acceptsRendition: boolean };

async function fetchFile(
  context: Context,
  file: PlannedDownload,
  { root, progress, acceptsRendition }: FetchOptions,
): Promise<SavedFile | undefined> {
  const { path, isOwn, asset } = file;
  const existing = context.settings.yes || isOwn ? undefined : await lstat(path).catch(() => undefined);
  if (existing) throw usageError(`${path} already exists and may be another file`, '--yes overwrites it');
  await makeFolderInside(root, dirname(file.relativePath));
  const media = await findDownload(context, asset, acceptsRendition);
  return save(context, media, { path, progress, replacesDownload: isOwn, isNewName: true, record: file.record });
}

/**
 * Creates a directory below another, one by one, since a link on the way may lead out of it.
 *
 * @throws CodedError `invalid_folder` (exit 2) if it leads to a directory outside
 */
async function makeFolderInside(root: string, relativePath: string): Promise<void> {
  let at = root;
  for (const name of relativePath === '.' ? [] : relativePath.split(sep)) {
    at = join(at, name);
    await makeFolder(at, '-d DIRECTORY');
    const real = await realpath(at);
    if (!isBelow(real, root))
      throw new CodedError(`${at} leads out of ${root}`, {
        code: 'invalid_folder',
        reason: `it is a link to ${real}`,
        hint: 'remove the link, or use another directory with -d',
      });
  }
}

/** Says which names of the library are other names on this disk. */
function reportChangedNames({ terminal }: Context, files: readonly PlannedDownload[]): void {
  const changed = files.filter(({ isNameKept }) => !isNameKept);
  if (changed.length === 0) return;
  const examples = changed.slice(0, maxNamesShown).map(({ libraryPath, path }) => `${libraryPath} is saved as ${path}`);
  const more = changed.length > maxNamesShown ? `, and ${changed.length - maxNamesShown} more` : '';
  terminal.warn(`${escapeControls(examples.join(', '))}${more}`);
}

const maxNamesShown = 3;

/** Returns the sum of all sizes in bytes, or 0 if any size is unknown. */
function totalBytes(files: readonly PlannedDownload[]): number {
  const sizes = files.map(({ asset }) => asNumber(asset.size) ?? Number.NaN);
  return sizes.reduce((sum, size) => sum + size, 0) || 0;
}

/**
 * Returns the files of earlier downloads of the same folders and globs whose assets are not there any more, or have another
 * name or folder now.
 */
async function findGone(
  parts: readonly DownloadPart[],
  receipts: DownloadReceipts | undefined,
  { root, service, files }: DownloadPlan,
) {
  const gone: DownloadRecord[] = [];
  for (const { source, targets } of parts) {
    if (source === null || !receipts) continue;
    // Undefined for an asset that could not be read, whose path is not known.
    const planned = new Map(targets.map(({ uid }) => [normalizeUid(uid), files.get(uid)?.relativePath]));
    const paths = new Set([...planned.values()].map((path) => path && join(root, path)));
    for (const { assetUid, path, sizeBytes, verified } of await receipts.listBelow(root, service, source)) {
      const uid = normalizeUid(assetUid);
      const isUnread = planned.has(uid) && planned.get(uid) === undefined;
      if (isUnread || paths.has(path) || !(await fileExists(path))) continue;
      paths.add(path);
      gone.push({
        asset_uid: assetUid,
        path,
        size_bytes: sizeBytes,
        verified,
        outcome: 'not_in_library',
        error: null,
      });
    }
  }
  return gone;
}

const recordOf = (
  uid: string,
  file: PlannedDownload | undefined,
  saved: SavedFile | undefined,
  error: ErrorRecord | null,
): DownloadRecord => ({
  asset_uid: uid,
  path: file?.path ?? null,
  size_bytes: saved?.size_bytes ?? file?.present?.sizeBytes ?? null,
  verified: saved?.verified ?? file?.present?.verified ?? null,
  outcome: saved ? 'downloaded' : file?.present && !error ? 'skipped' : 'failed',
  error,
});

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
      error
        ? `failed: ${escapeControls(error.message)}`
        : outcome === 'not_in_library'
          ? 'no longer in the library'
          : isTerminal && verified
            ? `${outcome}, verified`
            : outcome,
  },
];
