import { setMaxListeners } from 'node:events';
import { Readable } from 'node:stream';
import type { Api } from '../../../client/api/api.ts';
import { createFolderPathResolver, type FolderPathResolver } from '../../../client/changes/folder-creation.ts';
import { usageError } from '../../../client/errors.ts';
import { startUploads } from '../../../client/upload/batch/start-uploads.ts';
import type { UploadPorts } from '../../../client/upload/batch/upload-ports.ts';
import type { UploadSettings } from '../../../client/upload/decide/upload-settings.ts';
import type { FileEvent, RunEvent } from '../../../client/upload/session/events.ts';
import type { FileOutcome } from '../../../client/upload/session/file-outcome.ts';
import { createThrottle } from '../../../client/upload/session/throttle.ts';
import { everyFile, FileChooser } from '../../../client/upload/sources/file-chooser.ts';
import { Spool } from '../../../client/upload/sources/spool.ts';
import type { FolderResolver, UploadFile } from '../../../client/upload/sources/upload-file.ts';
import type { Receipts } from '../../../client/upload/store/receipts.ts';
import type { UploadEntry } from '../../../client/upload/store/upload-entry.ts';
import { isOwnPath } from '../../../shared/own-names.ts';
import type { DroppedFileInfo } from '../../../web/browse/protocol.ts';
import type { BrowseBackend, DropResult, TransferProgress } from '../../../web/browse/server/backend.ts';
import { fetchCached, TtlCache } from '../../../web/browse/server/caches.ts';
import type { Context } from '../../context.ts';
import { resolveWorkspaceUid } from '../../library/workspaces.ts';
import { openReceipts } from '../../uploading/receipts.ts';
import { recordedFolders, reopenFile, toUploadFile } from '../../uploading/resumed-files.ts';
import { choiceNames } from '../../uploading/sources.ts';
import { parseUploadOptions } from '../../uploading/upload-options.ts';
import { saveLastUpload } from '../../uploading/upload-record.ts';

/** Time-to-live of the cached folder tree. New folders of other users appear after it expires. */
const folderCacheMs = 60_000;

export type DropUploader = {
  send: BrowseBackend['uploadFile'];
  /** Resumes an upload that an earlier process has left. */
  resume(entry: UploadEntry, onProgress: (sending: TransferProgress) => void): Promise<DropResult>;
  /** Waits for the uploads, which stop after the context's signal. @returns number of uploads that can be resumed */
  close(): Promise<number>;
};

/**
 * Opens the uploader for dropped files. Each file is a run of its own. A browser sends a file's bytes only once and
 * without a path, so the bytes are spooled to disk, like stdin, and the upload can be resumed on this machine.
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
  const { profile } = await context.account();
  const resolveFolder = createDropFolderResolver(context, receipts);
  const settings = dropSettings(context, bytesPerSecond);
  const { rateLimit } = settings;
  const library = await context.library();
  const store = await context.state.uploads();
  // Shared by the runs of all files.
  const throttle = rateLimit === undefined ? undefined : createThrottle(clock, rateLimit);
  const portsOf = (
    folders: FolderResolver,
    onProgress: (sending: TransferProgress) => void,
    stdin?: UploadPorts['stdin'],
  ): UploadPorts => ({
    ...{ api, workspace, folders, receipts, profile, stdin, signal, store, throttle },
    comparison: { library },
    follow: { command: 'browse', summary: 'set metadata of dropped files', writer: () => context.writer() },
    openSource: (path) => reopenFile(context, path),
    onUploaded: (uid) => saveLastUpload(context, uid),
    confirmNewAsset: (refusal) => Promise.reject(refusal),
    onEvent: toProgress(onProgress),
  });
  const spool = new Spool(stateDir);
  let unfinishedCount = 0;
  const runOne = async (ports: UploadPorts, file: UploadFile): Promise<DropResult> => {
    const run = await startUploads(settings, ports, { files: [file] });
    let outcome: FileOutcome | undefined;
    for await (const [each] of run.outcomes) outcome ??= each;
    const { uploaded, error, id } = outcome ?? {};
    if (uploaded && !error) return { assetUid: uploaded.assetUid, outcome: uploaded.how };
    if (id !== undefined) unfinishedCount++;
    throw error ?? run.result.stopReason ?? signal.reason;
  };
  // If a file is dropped twice, the second upload finds the receipt of the first.
  const mutexes = new KeyedMutex();
  return {
    send: (file, bytes, onProgress) =>
      mutexes.run(JSON.stringify(file), async () => {
        const folders = await resolveFolder(file);
        const stdin = { spool, open: () => Readable.from(toBuffers(bytes)) };
        const chooser = new FileChooser(everyFile, { own: context.ownFiles, names: choiceNames });
        return runOne(portsOf(folders, onProgress, stdin), describeDrop(file, chooser));
      }),
    resume: (entry, onProgress) =>
      mutexes.run(entry.id, () => runOne(portsOf(recordedFolders, onProgress), toUploadFile(entry))),
    close: async () => {
      await mutexes.allReleased();
      return unfinishedCount;
    },
  };
}

/** Returns how a dropped file is uploaded, for which a page has no options. */
export const dropSettings = (context: Context, rateLimit: number | undefined): UploadSettings => ({
  ...parseUploadOptions(context, {}),
  ...{ lane: 'bulk', rateLimit },
});

class KeyedMutex {
  readonly #queues = new Map<string, Promise<unknown>>();

  run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const result = (this.#queues.get(key) ?? Promise.resolve()).then(work);
    const released = result
      .catch(() => {}) // the caller gets the error
      .finally(() => this.#queues.get(key) === released && this.#queues.delete(key));
    this.#queues.set(key, released);
    return result;
  }

  allReleased = () => Promise.all(this.#queues.values());
}

/**
 * Describes a dropped file. One of a folder is chosen like one of a directory: the page leaves out the same, before it sends
 * the bytes.
 *
 * @throws CodedError `usage` for a file that is left out
 */
function describeDrop({ name, relativeDir }: DroppedFileInfo, chooser: FileChooser): UploadFile {
  const path = relativeDir ? `${relativeDir}/${name}` : name;
  // The first directory is the one that was dropped.
  const inside = relativeDir ? path.slice(path.indexOf('/') + 1) : undefined;
  const isOwn = () => isOwnPath(path);
  if (!chooser.takes({ path, source: path, inside, relativeDir, filename: name, isOwn }))
    throw usageError(`${name} is left out`, 'to upload it, drop the file itself', chooser.warnings.join('; '));
  return { path, filename: name, relativeDir, stream: {} };
}

async function* toBuffers(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  for await (const part of bytes) yield Buffer.from(part.buffer, part.byteOffset, part.byteLength);
}

function toProgress(onProgress: (sending: TransferProgress) => void) {
  let sentBytes = 0;
  return (event: FileEvent | RunEvent) => {
    if (event.event === 'progress') ({ bytes_sent: sentBytes } = event);
    if (event.event === 'waiting') onProgress({ state: 'waiting', sentBytes });
    else if (['started', 'progress', 'requests_resumed'].includes(event.event))
      onProgress({ state: 'sending', sentBytes });
  };
}

/** Resolves a file to the current folder, or to the subfolder named like its directory. Caches the folder tree. */
function createDropFolderResolver(context: Context, receipts: Receipts) {
  const cache = new TtlCache<Promise<FolderPathResolver>>(1);
  const fetchTree = async () => createFolderPathResolver(await context.library(), receipts);
  const tree = () => fetchCached(cache, '', fetchTree, () => context.clock.now() + folderCacheMs);
  return async ({ folder, relativeDir }: DroppedFileInfo): Promise<FolderResolver> => {
    if (relativeDir === '') return { find: () => folder ?? undefined, findOrCreate: async () => folder ?? undefined };
    const pathIn = (byPath: FolderPathResolver) => (folder ? byPath.pathOf(folder) : '');
    // If the folder is newer than the cached tree, the tree is fetched again.
    if (pathIn(await tree()) === undefined) cache.delete('');
    const byPath = await tree();
    const top = pathIn(byPath);
    if (top === undefined) throw usageError('the folder no longer exists', 'choose another folder');
    const path = `${top}/${relativeDir}`;
    return { find: () => byPath.find(path), findOrCreate: () => byPath.make(path) };
  };
}
