import { lstat, realpath } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import type { DownloadReceipt, DownloadReceipts } from '../../../client/library/download-receipts.ts';
import type { SelectedAsset } from '../../../client/library/select-assets.ts';
import { type ItemResult, runEach } from '../../../client/run-each.ts';
import type { AssetFilters } from '../../../contract/asset-filters.ts';
import { asNumber, asText, parseTimestamp } from '../../../contract/json-values.ts';
import type { Collection } from '../../../contract/paths.ts';
import type { AssetRecord } from '../../../contract/types.ts';
import { normalizeUid } from '../../../contract/uid.ts';
import type { Context } from '../../context.ts';
import type { ProgressMode } from '../../progress/progress.ts';
import { inDirectory, isNameKept, readFileRecord, uniqueFilePaths } from './file-name.ts';
import { isUnchangedDownload } from './save.ts';

export type DownloadManyOptions = {
  filters: AssetFilters;
  newest: boolean | undefined;
  /** Path for a single asset; `-` for stdout. */
  output: string | undefined;
  /** Directory for the files; empty for the current one. */
  directory: string;
  /** True to leave out the folders of a glob. */
  isFlat: boolean;
  /** Number of concurrent downloads. */
  lanes: number;
  progress: ProgressMode;
  acceptsRendition: boolean;
};

/** Assets to download: those with the given ids, or all that match the filters. */
export type DownloadRequest = DownloadManyOptions & { collection: Collection; ids: readonly string[] };

/** Assets to download together. @property source the folder or glob that they were found by; null for others */
export type DownloadPart = { source: string | null; targets: readonly SelectedAsset[] };

/** A file to be downloaded, or that is there already. */
export type PlannedDownload = {
  uid: string;
  asset: AssetRecord;
  /** Path relative to the directory. */
  relativePath: string;
  /** Path to show and to write to. */
  path: string;
  /** Name of the asset after the folders that it is in, as the service shows them. */
  libraryPath: string;
  isNameKept: boolean;
  /** Receipt of an earlier download, if neither the file nor the asset has changed since; undefined to download it. */
  present: Pick<DownloadReceipt, 'sizeBytes' | 'verified'> | undefined;
  /** True if the file that is there is an unchanged download of this asset, or of one in its place, and may be replaced. */
  isOwn: boolean;
  record: Pick<DownloadReceipt, 'source' | 'folder' | 'name' | 'recordSize'>;
};

export type DownloadPlan = Awaited<ReturnType<typeof planDownloads>>;

type PlanDeps = { parts: readonly DownloadPart[]; receipts: DownloadReceipts | undefined };

/** A target with the receipt of its last download as a part of the same folder or glob, if there is one. */
type Candidate = { target: SelectedAsset; record: PlannedDownload['record']; earlier: DownloadReceipt | undefined };

/**
 * Decides where each asset is saved, and which are there already. An asset whose record and receipt are the same keeps its
 * path and needs no request, although its record in a list may not show the extension of its file.
 *
 * @returns `root`: real path of the directory; `service`: its origin; `lookups`: errors of records that could not be read;
 *   `killed`: receipts of downloads that were killed after their files got their final names
 */
export async function planDownloads(context: Context, request: DownloadRequest, { parts, receipts }: PlanDeps) {
  const { collection, directory, lanes } = request;
  const root = await realpath(directory || '.').catch(() => resolve(directory));
  const service = (await context.account()).baseUrl.origin;
  const candidates = await findCandidates(parts, { receipts, root, service, isFlat: request.isFlat });
  const { [collection]: assets } = await context.api();
  const records = new Map<string, AssetRecord>();
  const lookUp = async ({ target, earlier }: Candidate) => {
    records.set(target.uid, earlier && target.record ? target.record : await readFileRecord(assets, target));
  };
  const lookups: ItemResult<{ uid: string }, void>[] = (
    await runEach(candidates, lookUp, { signal: context.signal, lanes })
  ).map(({ item, ...result }) => ({ item: { uid: item.target.uid }, ...result }));
  const found = candidates.flatMap((each) => {
    const asset = records.get(each.target.uid);
    return asset ? [{ ...each, asset }] : [];
  });
  const paths = await uniqueFilePaths(
    found.map(({ asset, record, earlier }) => ({
      asset,
      folder: record.folder,
      path: earlier && relative(root, earlier.path),
    })),
  );
  const files = new Map<string, PlannedDownload>();
  const killed: DownloadReceipt[] = [];
  for (const [at, { target, asset, record }] of found.entries()) {
    const relativePath = paths[at] ?? target.uid;
    const own = await receipts?.findUnchanged(join(root, relativePath), service);
    if (own?.ctimeNs === null) killed.push(own);
    const hasReceipt = async () => (await receipts?.hasReceipt(join(root, relativePath))) ?? false;
    const path = inDirectory(directory, relativePath);
    files.set(target.uid, {
      ...{ uid: target.uid, asset, relativePath, path, record },
      libraryPath: [record.folder, asText(asset.name) ?? ''].filter(Boolean).join('/'),
      isNameKept: isNameKept(relativePath, asset, record.folder),
      present: context.settings.yes ? undefined : await findPresent({ path, asset, record, own, hasReceipt }),
      isOwn: own !== undefined && isSamePlace(own, { asset, record }),
    });
  }
  return { root, service, files, lookups, killed };
}

type CandidateOptions = {
  receipts: DownloadReceipts | undefined;
  root: string;
  service: string;
  isFlat: boolean;
};

async function findCandidates(
  parts: readonly DownloadPart[],
  { receipts, root, service, isFlat }: CandidateOptions,
): Promise<Candidate[]> {
  const candidates = new Map<string, Candidate>();
  for (const { source, targets } of parts) {
    const earlier = source === null ? [] : ((await receipts?.listBelow(root, service, source)) ?? []);
    const byAsset = new Map(earlier.map((receipt) => [normalizeUid(receipt.assetUid), receipt]));
    for (const target of targets) {
      const folder = isFlat ? '' : (target.relativeDir ?? '');
      const [name, recordSize] = [asText(target.record?.name) ?? null, asNumber(target.record?.size) ?? null];
      const receipt = byAsset.get(normalizeUid(target.uid));
      const isSame = receipt?.folder === folder && receipt.name === name && name !== null;
      const record = { source, folder, name, recordSize };
      candidates.set(target.uid, { target, record, earlier: isSame ? receipt : undefined });
    }
  }
  return [...candidates.values()];
}

/** Returns true if a file was downloaded from the same asset, or from the same folder of the same source. */
const isSamePlace = (own: DownloadReceipt, { asset, record }: Pick<PlannedDownload, 'asset' | 'record'>) =>
  normalizeUid(own.assetUid) === normalizeUid(asset.uid) ||
  (own.source !== null && own.source === record.source && own.folder === record.folder);

type PresentSearch = Pick<PlannedDownload, 'path' | 'asset' | 'record'> & {
  own: DownloadReceipt | undefined;
  /** Returns true if this path has a receipt, so that a file which does not match it was changed. */
  hasReceipt(): Promise<boolean>;
};

/** Returns what is known of a file that need not be downloaded again; undefined if it must. */
async function findPresent({
  path,
  asset,
  record,
  own,
  hasReceipt,
}: PresentSearch): Promise<PlannedDownload['present']> {
  if (own)
    return normalizeUid(own.assetUid) === normalizeUid(asset.uid) && own.recordSize === record.recordSize
      ? own
      : undefined;
  if (await hasReceipt()) return undefined;
  // A download without a receipt, such as one of an earlier version, shows by its time which asset it is.
  const found = await lstat(path).catch(() => undefined);
  const isSame =
    found && isUnchangedDownload(found, { assetUid: asset.uid, createdAt: parseTimestamp(asset.created_at) });
  return isSame ? { sizeBytes: found.size, verified: null } : undefined;
}
