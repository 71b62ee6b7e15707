import { setMaxListeners } from 'node:events';
import { Readable } from 'node:stream';
import type { Api } from '../../../client/api/api.ts';
import { usageError } from '../../../client/errors.ts';
import { type BatchDeps, BatchUploader, type RunOptions } from '../../../client/upload/batch/batch-uploader.ts';
import type { FileEvent, RunEvent } from '../../../client/upload/session/events.ts';
import { Throttle } from '../../../client/upload/session/throttle.ts';
import type { FileOutcome } from '../../../client/upload/session/upload-job.ts';
import { FileSource } from '../../../client/upload/sources/source.ts';
import { Spool } from '../../../client/upload/sources/spool.ts';
import type { FolderResolver } from '../../../client/upload/sources/upload-candidate.ts';
import type { DroppedFileInfo } from '../../../web/browse/protocol.ts';
import type { BrowseBackend, TransferProgress, UploadResult } from '../../../web/browse/server/backend.ts';
import { fetchCached, TtlCache } from '../../../web/browse/server/caches.ts';
import type { Context } from '../../context.ts';
import { saveLastUpload } from '../../library/asset-ids.ts';
import { createFolderPathResolver, type FolderPathResolver } from '../../library/folder-creation.ts';
import { resolveWorkspaceUid } from '../../library/workspaces.ts';
import { createdFoldersOf, openReceipts } from '../../uploading/receipts.ts';
import { parseUploadOptions } from '../../uploading/upload-options.ts';

/** Time-to-live of the cached folder tree. New folders of other users appear after it expires. */
const folderCacheMs = 60_000;

/** Opens the uploader for files that are dropped onto the web page. */
export async function openDropUploader(context: Context, api: Api, bytesPerSecond: number | undefined) {
  const { clock, signal, stateDir } = context;
  setMaxListeners(0, signal); // each file adds a listener
  const workspace = await resolveWorkspaceUid(context, false);
  const receipts = await openReceipts(context, false);
  const { profile, baseUrl } = await context.account();
  const { default: mime } = await import('mime/lite');
  const runId = `browse ${crypto.randomUUID()}`;
  const resolveFolder = createDropFolderResolver(
    context,
    () => receipts && createdFoldersOf(receipts, baseUrl.origin, workspace),
  );
  const deps: DropUploaderDeps = {
    ...{ api, receipts, profile, signal },
    journal: await context.journal(),
    spool: new Spool(stateDir),
    throttle: bytesPerSecond === undefined ? undefined : new Throttle(clock, bytesPerSecond),
    maxReceiptId: (await receipts?.startRun(runId)) ?? 0,
    openSource: (path) => FileSource.open(path),
    contentType: () => undefined,
    onPlan: async () => {},
    onUploaded: (uid) => saveLastUpload(context, uid),
    findOrphans: () => Promise.reject(new Error('the run looks them up')),
    confirmNewAsset: (refusal) => Promise.reject(refusal),
  };
  return new DropUploader(
    { ...parseUploadOptions(context, {}), workspace, parallel: 1, lane: 'bulk', about: {} },
    deps,
    {
      resolveFolder,
      contentTypeOf: (name) => mime.getType(name) ?? undefined,
      finish: () => receipts?.finishRun(runId),
    },
  );
}

type DropUploaderDeps = Omit<BatchDeps, 'folders' | 'stdin' | 'onEvent'>;

type DropTools = {
  resolveFolder(file: DroppedFileInfo): Promise<FolderResolver>;
  contentTypeOf(name: string): string | undefined;
  finish(): Promise<unknown> | undefined;
};

/**
 * Uploads files that are dropped onto the web page. Each file is a run of its own. A browser sends a file's bytes only
 * once and without a path, so the bytes are spooled to disk, like stdin, and the upload can be resumed on this machine.
 */
export class DropUploader {
  readonly #options: RunOptions;
  readonly #deps: DropUploaderDeps;
  readonly #tools: DropTools;
  /** Mutex per file, to dedupe. If a file is dropped twice, the second upload finds the receipt of the first. */
  readonly #mutexes = new Map<string, Promise<unknown>>();
  #unfinishedCount = 0;

  constructor(options: RunOptions, deps: DropUploaderDeps, tools: DropTools) {
    this.#options = options;
    this.#deps = deps;
    this.#tools = tools;
  }

  readonly send: BrowseBackend['uploadFile'] = (file, bytes, onProgress) => {
    const { folder, relativeDir, name, sizeBytes } = file;
    const key = JSON.stringify([folder, relativeDir, name, sizeBytes]);
    const upload = (this.#mutexes.get(key) ?? Promise.resolve()).then(() => this.#upload(file, bytes, onProgress));
    const released = upload
      .catch(() => {}) // the sender gets the error
      .finally(() => this.#mutexes.get(key) === released && this.#mutexes.delete(key));
    this.#mutexes.set(key, released);
    return upload;
  };

  /**
   * Waits until the uploads have stopped, which they do after the context's signal.
   *
   * @returns number of uploads that can be resumed
   */
  async close(): Promise<number> {
    await Promise.all(this.#mutexes.values());
    await this.#tools.finish();
    return this.#unfinishedCount;
  }

  async #upload(
    file: DroppedFileInfo,
    bytes: AsyncIterable<Uint8Array>,
    onProgress: (sending: TransferProgress) => void,
  ): Promise<UploadResult> {
    const { name, relativeDir } = file;
    const uploader = new BatchUploader(this.#options, {
      ...this.#deps,
      folders: await this.#tools.resolveFolder(file),
      stdin: () => Readable.from(toBuffers(bytes)),
      onEvent: toProgress(onProgress),
    });
    const candidate = {
      ...{ path: '-', filename: name, relativeDir, label: relativeDir ? `${relativeDir}/${name}` : name },
      about: { contentType: this.#tools.contentTypeOf(name) },
    };
    let outcome: FileOutcome | undefined;
    for await (const [each] of uploader.outcomes([candidate])) outcome ??= each;
    const { uploaded, error, id } = outcome ?? {};
    if (uploaded && !error) return { assetUid: uploaded.assetUid, how: uploaded.how };
    if (id !== undefined) this.#unfinishedCount++;
    throw error ?? uploader.result.stopReason ?? this.#deps.signal?.reason;
  }
}

async function* toBuffers(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
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
function createDropFolderResolver(context: Context, createdFolders: Parameters<typeof createFolderPathResolver>[1]) {
  const now = () => context.clock.now();
  const cache = new TtlCache<Promise<FolderPathResolver>>(1, now);
  const fetchTree = () => createFolderPathResolver(context, createdFolders);
  const tree = () => fetchCached(cache, '', fetchTree, () => now() + folderCacheMs);
  return async ({ folder, relativeDir }: DroppedFileInfo): Promise<FolderResolver> => {
    if (relativeDir === '') return { find: () => folder ?? undefined, findOrCreate: async () => folder ?? undefined };
    const pathIn = (byPath: FolderPathResolver) => (folder ? byPath.pathOf(folder) : '');
    // If the folder is newer than the cached tree, the tree is fetched again.
    if (pathIn(await tree()) === undefined) cache.delete('');
    const byPath = await tree();
    const top = pathIn(byPath);
    if (top === undefined) throw usageError('the folder is gone', 'choose another one');
    const path = `${top}/${relativeDir}`;
    return { find: () => byPath.find(path), findOrCreate: () => byPath.make(path) };
  };
}
