import { lstat, realpath } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { normalizeUid } from '../../contract/uid.ts';
import { pluralize } from '../../shared/figures.ts';
import { asCodedError, CodedError } from '../errors.ts';
import type { DownloadReceipt, DownloadReceipts } from '../library/download-receipts.ts';
import { fileExists } from '../local-path.ts';
import { runEach } from '../run-each.ts';
import { makeFolder } from '../state-files.ts';
import { isBelow } from '../upload/decide/missing-files.ts';
import { type DownloadPlan, lookAt, type PlannedDownload } from './download-plan.ts';
import { inDirectory } from './file-name.ts';
import { endDownload, type SavedFile, type SavePorts, save } from './save.ts';
import { findDownload, type MediaFinder } from './transfer.ts';

export type DownloadResult =
  | { outcome: 'downloaded'; saved: SavedFile }
  | { outcome: 'skipped'; present: NonNullable<PlannedDownload['present']> }
  | { outcome: 'failed'; error: CodedError };

/** @property onDone called with the result of each file, except for those that are not attempted */
type DownloadPorts = SavePorts & MediaFinder & { onDone(file: PlannedDownload, result: DownloadResult): void };

/**
 * Downloads the files of a plan that are not there already. Several files wait for the rate limit as uploads do. What
 * another process is downloading is looked at once more at the end.
 *
 * @returns the results of all files of the plan, by the uids of the assets
 */
export async function downloadPlanned(
  { onDone, ...ports }: DownloadPorts,
  plan: DownloadPlan,
): Promise<Map<string, DownloadResult>> {
  for (const receipt of plan.killed) await endDownload(ports, receipt);
  const results = new Map<string, DownloadResult>();
  for (const { item, error } of plan.lookups) if (error) results.set(item.uid, failedWith(error));
  for (const { uid, present } of plan.files.values()) if (present) results.set(uid, { outcome: 'skipped', present });
  const api = plan.files.size > 1 ? ports.api.withObserver({ lane: 'bulk' }) : ports.api;
  const download = async (files: readonly PlannedDownload[], locked?: PlannedDownload[]) => {
    const downloadFile = async (file: PlannedDownload) => {
      const result = await fetchFile({ ...ports, api }, file, plan);
      const error = result.outcome === 'failed' ? result.error : undefined;
      if (locked && error?.explanation.code === 'locked') return void locked.push(file);
      results.set(file.uid, result);
      onDone(file, result);
      if (error) throw error;
    };
    const options = { signal: ports.signal, lanes: plan.request.lanes };
    for (const { item, error } of await runEach(files, downloadFile, options))
      if (error && !results.has(item.uid)) results.set(item.uid, failedWith(error));
  };
  const locked: PlannedDownload[] = [];
  await download(filesToFetch(plan), locked);
  await download(locked);
  return results;
}

const failedWith = (error: unknown): DownloadResult => ({ outcome: 'failed', error: asCodedError(error) });

export const filesToFetch = ({ files }: DownloadPlan): PlannedDownload[] =>
  [...files.values()].filter(({ present }) => !present);

/** Downloads a file, unless another process has downloaded it meanwhile, or does so until this one would get its name. */
async function fetchFile(
  ports: SavePorts & MediaFinder,
  file: PlannedDownload,
  plan: DownloadPlan,
): Promise<DownloadResult> {
  const look = () => lookAt(file, { ...ports, root: plan.root });
  const { present, isOwn } = await look();
  if (present) return { outcome: 'skipped', present };
  try {
    return { outcome: 'downloaded', saved: await fetchInto(ports, { ...file, isOwn }, plan) };
  } catch (error) {
    const later = await look();
    return later.present ? { outcome: 'skipped', present: later.present } : failedWith(error);
  }
}

async function fetchInto(
  ports: SavePorts & MediaFinder,
  { path, asset, relativePath, record, isOwn }: PlannedDownload,
  { root, request }: DownloadPlan,
): Promise<SavedFile> {
  const existing = ports.replacesAll || isOwn ? undefined : await lstat(path).catch(() => undefined);
  if (existing) await ports.onExisting(path, 'may_be_other');
  await makeFolderInside(root, dirname(relativePath));
  const media = await findDownload(ports, asset, request.acceptsRendition);
  return save(ports, media, { path, replacesDownload: isOwn, isNewName: true, record });
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
    await makeFolder(at, 'use another directory');
    const real = await realpath(at);
    if (!isBelow(real, root))
      throw new CodedError(`${at} leads out of ${root}`, {
        code: 'invalid_folder',
        reason: `it is a link to ${real}`,
        hint: 'remove the link, or use another directory',
      });
  }
}

/**
 * Describes the files that assets of an unknown workspace would replace, except for unchanged downloads of the same asset or
 * place.
 *
 * @param unknownCount number of assets of which the service does not show the workspace
 * @returns undefined if there are none
 */
export async function describeReplaced(plan: DownloadPlan, unknownCount: number): Promise<string | undefined> {
  let count = 0;
  for (const { path, isOwn } of unknownCount > 0 ? filesToFetch(plan) : [])
    if (!isOwn && (await fileExists(path))) count++;
  if (count === 0) return undefined;
  return `the service does not show the workspace of ${pluralize(unknownCount, 'asset')}, and ${pluralize(count, 'file')} would be replaced`;
}

/**
 * Returns the receipts of earlier downloads of the same folders and globs whose files are there, but whose assets are not
 * there any more, or have another name or folder now.
 */
export async function findGone(
  { request, parts, root, service, inUse: workspace, files }: DownloadPlan,
  receipts: DownloadReceipts | undefined,
): Promise<DownloadReceipt[]> {
  const gone: DownloadReceipt[] = [];
  for (const { source, targets } of parts) {
    if (source === null || !receipts) continue;
    // Undefined for an asset that could not be read, whose path is not known.
    const planned = new Map(targets.map(({ uid }) => [normalizeUid(uid), files.get(uid)?.relativePath]));
    const paths = new Set([...planned.values()].map((path) => path && join(root, path)));
    for (const receipt of await receipts.listBelow(root, { service, workspace, source })) {
      const uid = normalizeUid(receipt.assetUid);
      const isUnread = planned.has(uid) && planned.get(uid) === undefined;
      if (isUnread || paths.has(receipt.path) || !(await fileExists(receipt.path))) continue;
      paths.add(receipt.path);
      gone.push({ ...receipt, path: inDirectory(request.directory, relative(root, receipt.path)) });
    }
  }
  return gone;
}
