import { setMaxListeners } from 'node:events';
import { lstat } from 'node:fs/promises';
import type { Api } from '../client/api/api.ts';
import { type DownloadResult, describeReplaced, downloadPlanned, findGone } from '../client/download/download-files.ts';
import {
  type DownloadPart,
  type DownloadPlan,
  describeChangedNames,
  type PlannedDownload,
  partOfFolder,
  planDownloads,
} from '../client/download/download-plan.ts';
import { openDownloads, type SavedFile, type SavePorts, save } from '../client/download/save.ts';
import { findDownload, type MediaFinder, type TransferPorts } from '../client/download/transfer.ts';
import { asCodedError, CodedError, endsTheRun, usageError } from '../client/errors.ts';
import { isGlob } from '../client/glob.ts';
import type { DownloadReceipt } from '../client/library/download-receipts.ts';
import { normalizePath } from '../client/library/folder-tree.ts';
import type { Library } from '../client/library/library.ts';
import { isLibraryPath, isRootPath } from '../client/library/library-paths.ts';
import { selectAssets } from '../client/library/select-assets.ts';
import { makeFolder } from '../client/state-files.ts';
import type { OnUploadEvent } from '../client/upload/session/events.ts';
import type { AssetRecord } from '../contract/types.ts';
import { Channel } from '../shared/channel.ts';
import { describeLeftOut, pluralize } from '../shared/figures.ts';
import * as argument from './arguments.ts';
import type { ClientParts } from './client-parts.ts';
import { findFolder } from './folders.ts';
import type * as Public from './public-types.ts';
import { toWaitNotice } from './uploads.ts';

export const createDownload =
  (parts: ClientParts): Public.Client['assets']['download'] =>
  (uid, path, call = {}) =>
    parts.run(
      call,
      async ({ api }) => {
        argument.assertArgument('uid', argument.uid, uid);
        argument.assertArgument('path', argument.text, path);
        const { overwrite = false, acceptRendition = false } = call;
        const onProgress = parts.errors.guard(call.onProgress);
        if (!overwrite && (await lstat(path).catch(() => undefined))) throw alreadyExists(path);
        const onEvent = downloadReporter(parts, call, ({ phase, receivedBytes, totalBytes }) => {
          if (phase === 'receiving') onProgress(receivedBytes, totalBytes);
        });
        const ports = await savePorts(parts, { call, api, onEvent });
        const media = await findDownload(ports, await api.assets.get(uid), acceptRendition);
        return toDownload(await save(ports, media, { path, isNewName: true }));
      },
      argument.downloadOptions,
    );

/** Creates the function that downloads what is in a folder, with the engine of the command line. */
export const createFolderDownload =
  (parts: ClientParts): Public.Client['downloadFolder'] =>
  (folder, directory, call = {}) =>
    parts.iterate(call, () => downloadFolder(parts, { folder, directory }, call), argument.folderDownloadOptions);

async function* downloadFolder(
  parts: ClientParts,
  { folder, directory }: { folder: string; directory: string },
  call: Public.FolderDownloadOptions,
): AsyncGenerator<Public.FolderDownload> {
  argument.assertArgument('folder', argument.text, folder);
  argument.assertArgument('directory', argument.text, directory);
  const { flatten: isFlat = false, transfers: lanes = 4, acceptRendition: acceptsRendition = false } = call;
  const stop = new AbortController();
  const signal = AbortSignal.any([parts.signalOf(call), stop.signal]);
  setMaxListeners(0, signal); // each concurrent download listens
  let isComplete = true;
  const { api, library } = parts.openFor({ ...call, signal }, () => {
    isComplete = false;
  });
  const { part, unknownCount } = await selectPart(parts, library, { folder, call });
  await makeFolder(directory);
  const onProgress = parts.errors.guard(call.onProgress);
  const ports = await savePorts(parts, { call, api, onEvent: downloadReporter(parts, call, onProgress), signal });
  const { receipts } = ports;
  const request = { collection: 'assets', directory, isFlat, lanes, acceptsRendition } as const;
  const plan = await planDownloads({ library, receipts }, request, [part]);
  const changed = describeChangedNames(plan);
  if (changed !== undefined) ports.warn(changed);
  await assertReplacesNothing(plan, { unknownCount, overwrite: call.overwrite });
  for (const { item, error } of plan.lookups)
    if (error) yield { uid: item.uid, path: null, outcome: 'failed', error: parts.errors.toPublic(error) };
  for (const { uid, path, present } of plan.files.values())
    if (present) yield { uid, outcome: 'skipped', ...fileOf(path, present) };
  const done = new Channel<{ file: PlannedDownload; result: DownloadResult }>();
  const onDone = (file: PlannedDownload, result: DownloadResult) => {
    try {
      if (result.outcome === 'downloaded') onProgress(doneOf(result.saved));
      done.push({ file, result });
    } catch (error) {
      done.push({ file, result: { outcome: 'failed', error: asCodedError(error) } });
    }
  };
  const work = downloadPlanned({ ...ports, onDone }, plan);
  parts.track(work);
  const batches = done.streamWhile(
    async () => void (await work),
    () => stop.abort(),
  );
  for await (const batch of batches)
    for (const { file, result } of batch) {
      const error = result.outcome === 'failed' ? result.error : undefined;
      if (error && (endsTheRun(error) || signal.aborted || parts.errors.callbackError(error))) throw error;
      yield toPublicResult(parts, file, result);
    }
  parts.signalOf(call).throwIfAborted();
  // A list that lacks assets does not show which are gone.
  for (const gone of isComplete ? await findGone(plan, receipts) : [])
    yield { uid: gone.assetUid, outcome: 'not_in_library', ...fileOf(gone.path, gone) };
}

function toPublicResult(
  { errors }: ClientParts,
  { uid, path }: PlannedDownload,
  result: DownloadResult,
): Public.FolderDownload {
  if (result.outcome === 'failed') return { uid, path, outcome: 'failed', error: errors.toPublic(result.error) };
  const saved = result.outcome === 'downloaded' ? toDownload(result.saved) : fileOf(path, result.present);
  return { uid, outcome: result.outcome, ...saved };
}

/** Selects what is in a folder, given by path or uid, or what matches a glob. */
async function selectPart(
  { warn }: ClientParts,
  library: Library,
  { folder, call }: { folder: string; call: Public.CallOptions },
): Promise<{ part: DownloadPart; unknownCount: number }> {
  const ports = {
    onLeftOut: (count: number) => warn(call, describeLeftOut(count)),
    onUnknown: async ({ count }: { count: number }) =>
      warn(call, `the service does not show the workspace of ${pluralize(count, 'asset')}, which may be any`),
  };
  const { tree } = await library.folders();
  const isPattern = isLibraryPath(folder) && isGlob(folder) && tree.findByPath(folder).length === 0;
  if (!isPattern) return partOfFolder(library, isRootPath(folder) ? 'top' : [await findFolder(library, folder)], ports);
  const none = new CodedError(`no asset matches ${folder}`, { code: 'not_found' });
  const refuse = () => Promise.reject(none);
  const choose = async (_: string, matches: readonly AssetRecord[]) => matches[0] ?? refuse();
  const selection = { collection: 'assets', purpose: 'read', ids: [folder] } as const;
  const finder = { expand: async () => undefined, choose, chooseAny: refuse, readIds: refuse };
  const selected = await selectAssets(library, selection, { ...ports, ...finder, missing: () => none }).catch(
    (error) => {
      if (error !== none) throw error;
      return { assets: [], unknownCount: 0 };
    },
  );
  return { part: { source: normalizePath(folder), targets: selected.assets }, unknownCount: selected.unknownCount };
}

/** @throws CodedError `usage` if files would be replaced by assets that may be in any workspace */
async function assertReplacesNothing(
  plan: DownloadPlan,
  { unknownCount, overwrite = false }: { unknownCount: number; overwrite?: boolean | undefined },
): Promise<void> {
  const problem = overwrite ? await describeReplaced(plan, unknownCount) : undefined;
  if (problem !== undefined) throw usageError(problem);
}

type CallDeps = { call: Public.CallOptions; api: Api; onEvent: OnUploadEvent };

/** Returns what downloads files without saving them. */
export const transferPorts = (
  { state, warn }: ClientParts,
  { call, api, onEvent }: CallDeps,
): TransferPorts & MediaFinder => ({
  api,
  uploads: () => state.receiptsIfAny(),
  media: api.transport,
  onEvent,
  warn: (message) => warn(call, message),
});

/** Returns what downloads and saves files. */
async function savePorts(
  parts: ClientParts,
  { signal, ...deps }: CallDeps & { call: { overwrite?: boolean | undefined }; signal?: AbortSignal },
): Promise<SavePorts & MediaFinder> {
  const { state, ownFiles, signalOf } = parts;
  const transfer = transferPorts(parts, deps);
  return {
    ...transfer,
    ...{ ownFiles, stateDir: state.directory, option: 'path', replacesAll: deps.call.overwrite ?? false },
    signal: signal ?? signalOf(deps.call),
    onExisting: async (path) => {
      throw alreadyExists(path);
    },
    service: deps.api.transport.baseUrl.origin,
    receipts: await openDownloads(state, { mayCreate: true, warn: transfer.warn }),
  };
}

const alreadyExists = (path: string) => new CodedError(`${path} already exists`, { code: 'already_exists' });

export function downloadReporter(
  { notify, errors }: ClientParts,
  call: Public.CallOptions,
  onProgress: ((progress: Public.DownloadProgress) => void) | undefined,
): OnUploadEvent {
  const report = errors.guard(onProgress);
  const counts = new Map<string, Pick<Public.DownloadProgress, 'receivedBytes' | 'totalBytes'>>();
  return (event) => {
    const { path } = event;
    const tell = (phase: Public.DownloadProgress['phase']) =>
      report({ path, phase, ...(counts.get(path) ?? { receivedBytes: 0, totalBytes: undefined }) });
    if (event.event === 'started' || event.event === 'progress') {
      const receivedBytes = event.event === 'progress' ? event.offset_bytes : 0;
      counts.set(path, { receivedBytes, totalBytes: event.size_bytes || undefined });
      tell(event.event === 'started' ? 'started' : 'receiving');
    } else if (event.event === 'waiting') {
      tell('waiting');
      notify(call)(toWaitNotice(event));
    } else if (event.event === 'requests_resumed') notify(call)({ kind: 'resumed' });
  };
}

const fileOf = (path: string, { sizeBytes, verified }: Pick<DownloadReceipt, 'sizeBytes' | 'verified'>) => ({
  path,
  sizeBytes,
  contentType: undefined,
  isVerified: verified,
});

const doneOf = ({ path, size_bytes }: SavedFile): Public.DownloadProgress => ({
  path,
  phase: 'done',
  receivedBytes: size_bytes,
  totalBytes: size_bytes,
});

const toDownload = ({ path, size_bytes, content_type, verified = null }: SavedFile): Public.Download => ({
  path,
  sizeBytes: size_bytes,
  contentType: content_type ?? undefined,
  isVerified: verified,
});
