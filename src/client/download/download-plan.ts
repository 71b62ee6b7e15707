import { lstat, realpath } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import type { Collection } from '../../contract/paths.ts';
import type { AssetRecord } from '../../contract/types.ts';
import { isSameUid, normalizeUid } from '../../contract/uid.ts';
import { asNumber, asText, parseTimestamp } from '../../shared/json-values.ts';
import { escapeControls } from '../../shared/sanitize.ts';
import { escapeGlob } from '../glob.ts';
import type { DownloadReceipt, DownloadReceipts, UploadedFile } from '../library/download-receipts.ts';
import type { FolderNode } from '../library/folder-tree.ts';
import type { Library } from '../library/library.ts';
import { type SelectedAsset, selectInFolders } from '../library/select-assets.ts';
import { toSlashes, tryLstat } from '../local-path.ts';
import { type ItemResult, runEach } from '../run-each.ts';
import { isStillAt } from '../upload/sources/file-identity.ts';
import { inDirectory, isNameKept, readFileRecord, uniqueFilePaths } from './file-name.ts';
import { hasDownloadTime } from './save.ts';

/** Settings for downloading several assets. */
export type PlanRequest = {
  collection: Collection;
  /** Directory for the files; empty for the current one. */
  directory: string;
  /** True to leave out the folders of a glob. */
  isFlat: boolean;
  /** Number of concurrent downloads. */
  lanes: number;
  /** True to save renditions in place of originals. */
  acceptsRendition: boolean;
};

/** Assets to download together. @property source the folder or glob that they were found by; null for others */
export type DownloadPart = { source: string | null; targets: readonly SelectedAsset[] };

/**
 * Selects what is in a folder and in those below it.
 *
 * @param tops all folders at its path
 */
export async function partOfFolder(
  library: Library,
  tops: readonly FolderNode[] | 'top',
  ports: Parameters<typeof selectInFolders>[2],
): Promise<{ part: DownloadPart; unknownCount: number }> {
  const { assets: targets, unknownCount } = await selectInFolders(library, tops, ports);
  const source = `${tops === 'top' ? '' : escapeGlob(tops[0]?.path ?? '')}/**`;
  return { part: { source, targets }, unknownCount };
}

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
  record: Pick<DownloadReceipt, 'workspace' | 'source' | 'folder' | 'name' | 'recordSize'>;
};

export type DownloadPlan = Awaited<ReturnType<typeof planDownloads>>;

type PlanDeps = { library: Library; receipts: DownloadReceipts | undefined };

/** An asset to download. */
type Candidate = {
  target: SelectedAsset;
  record: PlannedDownload['record'];
  /** Receipt of its last download as a part of the same folder or glob, if there is one. */
  earlier: DownloadReceipt | undefined;
  /** File of the same directory that was uploaded as this asset, if there is one. */
  uploaded: UploadedFile | undefined;
  /** True if the file of its last download was edited, and is uploaded as another asset. */
  isOldVersion: boolean;
};

/**
 * Decides where each asset is saved, and which are there already. An asset whose record and receipt are the same keeps its
 * path and needs no request, although its record in a list may not show the extension of its file. So does one whose file
 * was uploaded from there.
 *
 * @returns `root`: real path of the directory; `service`: its origin; `lookups`: errors of records that could not be read;
 *   `killed`: receipts of downloads that were killed after their files got their final names
 */
export async function planDownloads(
  { library, receipts }: PlanDeps,
  request: PlanRequest,
  parts: readonly DownloadPart[],
) {
  const { collection, directory, lanes } = request;
  const { api, signal, workspaceInUse } = library;
  const root = await realpath(directory || '.').catch(() => resolve(directory));
  const service = api.transport.baseUrl.origin;
  const inUse = (await workspaceInUse.uidIfKnown('read')) ?? null;
  const workspaceOf = (asset: AssetRecord) => workspaceInUse.workspaceOf(asset);
  const candidates = await findCandidates(parts, {
    receipts,
    root,
    service,
    isFlat: request.isFlat,
    inUse,
    workspaceOf,
  });
  const { [collection]: assets } = candidates.length > 1 ? api.withObserver({ lane: 'bulk' }) : api;
  const records = new Map<string, AssetRecord>();
  const lookUp = async ({ target, earlier, uploaded }: Candidate) => {
    const isNamed = earlier ?? uploaded;
    records.set(target.uid, isNamed && target.record ? target.record : await readFileRecord(assets, target));
  };
  const lookups: ItemResult<{ uid: string }, void>[] = (await runEach(candidates, lookUp, { signal, lanes })).map(
    ({ item, ...result }) => ({ item: { uid: item.target.uid }, ...result }),
  );
  const found = candidates.flatMap((each) => {
    const asset = records.get(each.target.uid);
    return asset ? [{ ...each, asset }] : [];
  });
  const paths = await uniqueFilePaths(
    found.map(({ asset, record, earlier, uploaded = earlier }) => ({
      asset,
      folder: record.folder,
      path: uploaded && relative(root, uploaded.path),
    })),
  );
  const files = new Map<string, PlannedDownload>();
  const killed: DownloadReceipt[] = [];
  for (const [at, { target, asset, record, earlier, uploaded, isOldVersion }] of found.entries()) {
    const relativePath = paths[at] ?? target.uid;
    const place = { asset, relativePath, path: inDirectory(directory, relativePath), record };
    const { own, ...seen } = await lookAt(place, { root, service, receipts });
    if (own?.ctimeNs === null) killed.push(own);
    const isUploaded = uploaded !== undefined && (await isStillAt(uploaded.path, uploaded, tryLstat));
    const known = isOldVersion ? earlier : isUploaded ? uploaded : undefined;
    files.set(target.uid, {
      ...{ uid: target.uid, ...place, ...seen, ...(known && { present: known }) },
      libraryPath: [record.folder, asText(asset.name) ?? ''].filter(Boolean).join('/'),
      isNameKept: isNameKept(relativePath, asset, record.folder),
    });
  }
  return { request, parts, root, service, inUse, files, lookups, killed };
}

/** Says which names of the library are other names on this disk; undefined if none is. */
export function describeChangedNames({ files }: Pick<DownloadPlan, 'files'>): string | undefined {
  const changed = [...files.values()].filter(({ isNameKept: isKept }) => !isKept);
  if (changed.length === 0) return undefined;
  const examples = changed.slice(0, maxNamesShown).map(({ libraryPath, path }) => `${libraryPath} is saved as ${path}`);
  const more = changed.length > maxNamesShown ? `, and ${changed.length - maxNamesShown} more` : '';
  return `${escapeControls(examples.join(', '))}${more}`;
}

const maxNamesShown = 3;

type CandidateOptions = {
  receipts: DownloadReceipts | undefined;
  root: string;
  service: string;
  isFlat: boolean;
  /** Uid of the workspace in use, in which folders and globs are; null if none is known. */
  inUse: string | null;
  workspaceOf(asset: AssetRecord): Promise<string | undefined>;
};

async function findCandidates(
  parts: readonly DownloadPart[],
  { receipts, root, service, isFlat, inUse: workspace, workspaceOf }: CandidateOptions,
): Promise<Candidate[]> {
  const candidates = new Map<string, Candidate>();
  const uploads = (await receipts?.listUploaded(root, service)) ?? [];
  const uploadOf = new Map(uploads.map((each) => [normalizeUid(each.assetUid), each]));
  for (const { source, targets } of parts) {
    const uids = new Set(targets.map(({ uid }) => normalizeUid(uid)));
    const uploadAt = new Map(
      uploads.flatMap((each) => (uids.has(normalizeUid(each.assetUid)) ? [[each.path, each] as const] : [])),
    );
    const earlier = source === null ? [] : ((await receipts?.listBelow(root, { service, workspace, source })) ?? []);
    const byAsset = new Map(earlier.map((receipt) => [normalizeUid(receipt.assetUid), receipt]));
    for (const target of targets) {
      const folder = isFlat ? '' : (target.relativeDir ?? '');
      const [name, recordSize] = [asText(target.record?.name) ?? null, asNumber(target.record?.size) ?? null];
      const receipt = byAsset.get(normalizeUid(target.uid));
      const isSame = receipt?.folder === folder && receipt.name === name && name !== null;
      const shown = source === null && target.record ? ((await workspaceOf(target.record)) ?? null) : null;
      const record = { workspace: source === null ? shown : workspace, source, folder, name, recordSize };
      const newer = isSame ? uploadAt.get(receipt.path) : undefined;
      const isOldVersion = newer !== undefined && !isSameUid(newer.assetUid, target.uid);
      const upload = uploadOf.get(normalizeUid(target.uid));
      const isUploaded = upload !== undefined && upload.name === name && directoryOf(upload.path, root) === folder;
      candidates.set(target.uid, {
        ...{ target, record, isOldVersion },
        earlier: isSame ? receipt : undefined,
        uploaded: isUploaded ? upload : undefined,
      });
    }
  }
  return [...candidates.values()];
}

/** Returns the directory of a file below another one, with slashes; empty for that itself. */
const directoryOf = (path: string, root: string) => toSlashes(relative(root, dirname(path)));

/** Returns true if a file was downloaded from the same asset, or from the same folder of the same source and workspace. */
const isSamePlace = (own: DownloadReceipt, { asset, record }: Pick<PlannedDownload, 'asset' | 'record'>) =>
  isSameUid(own.assetUid, asset.uid) ||
  (own.source !== null && own.source === record.source && own.folder === record.folder && isSameWorkspace(own, record));

/** A workspace that is not known is no proof that it is the same. */
const isSameWorkspace = (one: Pick<DownloadReceipt, 'workspace'>, other: Pick<DownloadReceipt, 'workspace'>) =>
  one.workspace !== null && other.workspace !== null && isSameUid(one.workspace, other.workspace);

type LookDeps = { root: string; service: string; receipts: DownloadReceipts | undefined };

/** Looks whether the file of an asset is at its path already, and whether what is there may be replaced. */
export async function lookAt(
  { path, relativePath, asset, record }: Pick<PlannedDownload, 'path' | 'relativePath' | 'asset' | 'record'>,
  { root, service, receipts }: LookDeps,
): Promise<Pick<PlannedDownload, 'present' | 'isOwn'> & { own: DownloadReceipt | undefined }> {
  const at = join(root, relativePath);
  const own = await receipts?.findUnchanged(at, service);
  if (own) {
    const isSame = isSameUid(own.assetUid, asset.uid) && own.recordSize === record.recordSize;
    return { own, present: isSame ? own : undefined, isOwn: isSamePlace(own, { asset, record }) };
  }
  // With a receipt, a file that does not match it was changed. A download without one, such as one of another state
  // directory, shows by its time which asset it is.
  const found = (await receipts?.hasReceipt(at)) ? undefined : await lstat(path).catch(() => undefined);
  const isSame = found && hasDownloadTime(found, { assetUid: asset.uid, createdAt: parseTimestamp(asset.created_at) });
  return { own, present: isSame ? { sizeBytes: found.size, verified: null } : undefined, isOwn: false };
}
