import { setMaxListeners } from 'node:events';
import { Readable } from 'node:stream';
import type { Api } from '../../../client/api/api.ts';
import { usageError } from '../../../client/errors.ts';
import type { RunOptions } from '../../../client/upload/batch/batch-uploader.ts';
import { BatchUploader } from '../../../client/upload/batch/batch-uploader.ts';
import type { FileEvent, RunEvent } from '../../../client/upload/session/events.ts';
import { Throttle } from '../../../client/upload/session/throttle.ts';
import type { FileOutcome } from '../../../client/upload/session/upload-job.ts';
import { FileSource } from '../../../client/upload/sources/source.ts';
import { Spool } from '../../../client/upload/sources/spool.ts';
import type { FolderResolver } from '../../../client/upload/sources/upload-candidate.ts';
import type { DroppedFileInfo } from '../../../web/browse/protocol.ts';
import type { BrowseBackend, TransferProgress, UploadResult } from '../../../web/browse/server/backend.ts';
import type { Context } from '../../context.ts';
import { saveLastUpload } from '../../library/asset-ids.ts';
import { createFolderPathResolver, type FolderPathResolver } from '../../library/folder-creation.ts';
import { resolveWorkspaceUid } from '../../library/workspaces.ts';
import { createdFoldersOf, openReceipts } from '../../uploading/receipts.ts';
import { parseUploadOptions } from '../../uploading/upload-options.ts';

/** Uploader for files that are dropped onto the web page. */
export type DropUploader = {
  send: BrowseBackend['uploadFile'];
  /**
   * Waits until the uploads have stopped, which they do after the context's signal.
   *
   * @returns number of uploads that can be resumed
   */
  close(): Promise<number>;
};

/** Time-to-live of the cached folder tree. New folders of other users appear after it expires. */
const folderCacheMs = 60_000;

/**
 * Opens the uploader for files that are dropped onto the web page. Each file is a run of its own. A browser sends a
 * file's bytes only once and without a path, so the bytes are spooled to disk, like stdin, and the upload can be
 * resumed on this machine.
 */
export async function openDropUploader(
  context: Context,
  api: Api,
  bytesPerSecond: number | undefined,
): Promise<DropUploader> {
  const { clock, signal, stateDir } = context;
  setMaxListeners(0, signal); // each file adds a listener
  const workspace = await resolveWorkspaceUid(context, false);
  const receipts = await openReceipts(context, false);
  const { profile, baseUrl } = await context.account();
  const { default: mime } = await import('mime/lite');
  const options: RunOptions = {
    ...parseUploadOptions(context, {}),
    ...{ workspace, parallel: 1, lane: 'bulk', about: {} },
  };
  const throttle = bytesPerSecond === undefined ? undefined : new Throttle(clock, bytesPerSecond);
  const journal = await context.journal();
  const spool = new Spool(stateDir);
  const resolveFolder = createDropFolderResolver(
    context,
    () => receipts && createdFoldersOf(receipts, baseUrl.origin, workspace),
  );
  const runId = `browse ${crypto.randomUUID()}`;
  const maxReceiptId = (await receipts?.startRun(runId)) ?? 0;
  let unfinishedCount = 0;

  /** Mutex per file, to dedupe. If a file is dropped twice, the second upload finds the receipt of the first. */
  const mutexes = new Map<string, Promise<unknown>>();
  const serialize = <T>({ folder, relativeDir, name, sizeBytes }: DroppedFileInfo, work: () => Promise<T>) => {
    const key = JSON.stringify([folder, relativeDir, name, sizeBytes]);
    const mine = (mutexes.get(key) ?? Promise.resolve()).then(work);
    const released = mine
      .catch(() => {}) // the sender gets the error
      .finally(() => mutexes.get(key) === released && mutexes.delete(key));
    mutexes.set(key, released);
    return mine;
  };

  const run = async (
    file: DroppedFileInfo,
    bytes: AsyncIterable<Uint8Array>,
    onProgress: (sending: TransferProgress) => void,
  ): Promise<UploadResult> => {
    const { name, relativeDir } = file;
    const folders = await resolveFolder(file);
    const uploader = new BatchUploader(options, {
      ...{ api, journal, receipts, throttle, spool, profile, signal, folders },
      maxReceiptId,
      stdin: () => Readable.from(buffers(bytes)),
      openSource: (path) => FileSource.open(path),
      onEvent: toProgress(onProgress),
      contentType: () => undefined,
      onPlan: async () => {},
      onUploaded: (uid) => saveLastUpload(context, uid),
      confirmNewAsset: (refusal) => Promise.reject(refusal),
    });
    const candidate = {
      ...{
        path: '-',
        filename: name,
        relativeDir,
        label: relativeDir ? `${relativeDir}/${name}` : name,
      },
      about: { contentType: mime.getType(name) ?? undefined },
    };
    const outcomes: FileOutcome[] = [];
    for await (const batch of uploader.outcomes([candidate])) outcomes.push(...batch);
    const [outcome] = outcomes;
    if (outcome?.uploaded && !outcome.error) return { assetUid: outcome.uploaded.assetUid, how: outcome.uploaded.how };
    if (outcome?.id !== undefined) unfinishedCount++;
    throw outcome?.error ?? uploader.result.stopReason ?? signal.reason;
  };

  return {
    send: (file, bytes, onProgress) => serialize(file, () => run(file, bytes, onProgress)),
    close: async () => {
      await Promise.all(mutexes.values());
      await receipts?.finishRun(runId);
      return unfinishedCount;
    },
  };
}

async function* buffers(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  for await (const part of bytes) yield Buffer.from(part.buffer, part.byteOffset, part.byteLength);
}

/** Returns an event handler that converts upload events to the progress that the web page shows. */
function toProgress(onProgress: (sending: TransferProgress) => void) {
  let sentBytes = 0;
  return (event: FileEvent | RunEvent) => {
    if (event.event === 'progress') ({ sent_bytes: sentBytes } = event);
    if (event.event === 'waiting') onProgress({ state: 'waiting', sentBytes });
    else if (['started', 'progress', 'going_on'].includes(event.event)) onProgress({ state: 'sending', sentBytes });
  };
}

/**
 * Returns a function that resolves the folder for a dropped file: the current folder, or the subfolder that
 * corresponds to the file's directory on the user's disk. Caches the folder tree, so that it is not fetched for
 * every file.
 */
function createDropFolderResolver(
  context: Context,
  createdFolders: () => ReturnType<typeof createdFoldersOf> | undefined,
) {
  let cached: { since: number; byPath: Promise<FolderPathResolver> } | undefined;
  const folders = (isForced = false) => {
    const now = context.clock.now();
    if (isForced || !cached || now - cached.since > folderCacheMs)
      cached = { since: now, byPath: createFolderPathResolver(context, createdFolders) };
    const mine = cached;
    mine.byPath.catch(() => {
      if (cached === mine) cached = undefined; // retry on the next call
    });
    return mine.byPath;
  };
  return async ({ folder, relativeDir }: DroppedFileInfo): Promise<FolderResolver> => {
    if (relativeDir === '') return { find: () => folder ?? undefined, findOrCreate: async () => folder ?? undefined };
    const pathIn = (byPath: FolderPathResolver) => (folder ? byPath.pathOf(folder) : '');
    let byPath = await folders();
    // The folder is newer than the cached tree, so the tree is fetched again.
    if (pathIn(byPath) === undefined) byPath = await folders(true);
    const top = pathIn(byPath);
    if (top === undefined) throw usageError('the folder is gone', 'choose another one');
    const path = `${top}/${relativeDir}`;
    return { find: () => byPath.find(path), findOrCreate: () => byPath.make(path) };
  };
}
