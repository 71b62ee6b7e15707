import { setMaxListeners } from 'node:events';
import { realpath, stat } from 'node:fs/promises';
import { createFolderPathResolver } from '../client/changes/folder-creation.ts';
import { CodedError, usageError } from '../client/errors.ts';
import { isRootPath } from '../client/library/library-paths.ts';
import { startUploads } from '../client/upload/batch/start-uploads.ts';
import type { UploadPorts } from '../client/upload/batch/upload-ports.ts';
import { warningOf } from '../client/upload/decide/decision.ts';
import { isBelow } from '../client/upload/decide/missing-files.ts';
import { defaultSettings, type UploadSettings } from '../client/upload/decide/upload-settings.ts';
import type { FileEvent } from '../client/upload/session/events.ts';
import { createOutcome, type FileOutcome, type Uploaded } from '../client/upload/session/file-outcome.ts';
import { choiceFrom, FileChooser } from '../client/upload/sources/file-chooser.ts';
import { FileSource, findLocalFiles } from '../client/upload/sources/source.ts';
import { type FolderResolver, fileAt, targetPathOf, type UploadFile } from '../client/upload/sources/upload-file.ts';
import type { Receipts } from '../client/upload/store/receipts.ts';
import { alreadyUploading } from '../client/upload/store/upload-store.ts';
import { isUid } from '../contract/uid.ts';
import type { SuccessOutcome } from '../shared/upload-outcomes.ts';
import { assertArgument, text } from './arguments.ts';
import type { ClientParts } from './client-parts.ts';
import type { DirectoryOptions, DirectoryResult, Notice, UploadProgress, UploadResult } from './public-types.ts';

/** Outcomes of the library. `exists` and `moved` need options of the command line. */
type LibraryOutcome = Exclude<SuccessOutcome, 'exists' | 'moved'>;

/** Names of the options that choose files, for messages. */
export const choiceNames = { include: 'include', exclude: 'exclude', allFiles: 'allFiles', minAge: 'minAge' };

type UploadCall = DirectoryOptions & { name?: string | undefined };

/** Uploads files with the engine of the command line: the same receipts, resume, folders and rate limiter. */
export function createUploader(parts: ClientParts) {
  const upload = (path: string, isDirectory: boolean, call: UploadCall) =>
    runUpload(parts, { path, isDirectory }, call);
  return {
    upload: async (path: string, call: UploadCall = {}): Promise<UploadResult> => {
      for await (const { uploaded, error } of upload(path, false, call)) {
        if (error) throw error;
        if (uploaded) return toResult(path, uploaded);
      }
      throw usageError(`no file at ${path}`);
    },
    uploadDirectory: async function* (path: string, call: DirectoryOptions = {}): AsyncGenerator<DirectoryResult> {
      for await (const { file, uploaded, error, isBusy } of upload(path, true, call)) {
        const fromCallback = parts.errors.callbackError(error);
        if (fromCallback) throw fromCallback;
        if (uploaded && !error) yield { path: file.path, upload: toResult(file.path, uploaded) };
        else yield { path: file.path, error: parts.errors.toPublic(isBusy ? alreadyUploading() : error) };
      }
    },
  };
}

/** Uploads a file or a directory, and yields the outcome of each file. Stops if the caller leaves the loop. */
async function* runUpload(
  parts: ClientParts,
  { path, isDirectory }: { path: string; isDirectory: boolean },
  call: UploadCall,
): AsyncGenerator<FileOutcome> {
  assertArgument('path', text, path);
  const stop = new AbortController();
  const signal = AbortSignal.any([parts.signalOf(call), stop.signal]);
  setMaxListeners(0, signal); // each concurrent upload listens
  const { folder = '/', tags, roots } = call;
  const settings = settingsOf(parts.options, { existing: isDirectory ? 'file' : 'content', ...call });
  const chooser = new FileChooser(settings.choice, { own: parts.ownFiles, names: choiceNames });
  const walk = await findLocalFiles([path], chooser);
  if (walk.hasDirectories !== isDirectory)
    throw usageError(isDirectory ? `${path} is not a directory` : `${path} is a directory: use uploadDirectory`);
  const { library, writer } = parts.openFor({ ...call, signal });
  const workspace = await library.workspace();
  const receipts = await parts.state.receipts();
  const folders = await resolveFolders(parts, call, isDirectory && !call.flatten, receipts);
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const withTags = async function* (): AsyncGenerator<UploadFile> {
    for await (const file of walk.files()) yield tags ? { ...file, about: { ...file.about, tags } } : file;
  };
  const ports: UploadPorts = {
    ...{ api: library.api, workspace, folders, receipts, signal },
    comparison: { library },
    store: await parts.state.uploads(),
    follow: { ...parts.labelOf(`set metadata of the files of ${path}`), writer },
    profile: 'library',
    openSource: (file, realPath) => openBelow(roots, FileSource.open(file, parts.ownFiles, realPath)),
    confirmNewAsset: (refusal) => Promise.reject(refusal),
    onEnd: () => end(),
    onDecideNotice: (notice) => {
      const message = warningOf(notice);
      if (message !== undefined) parts.notify(call)({ kind: 'warning', message });
    },
    onEvent: reporter(parts.notify(call), parts.errors.guard(call.onProgress)),
  };
  const run = await startUploads(settings, ports, { files: withTags(), identity: [path, folder] });
  parts.track(ended);
  try {
    // Read by hand, since a loop that its caller leaves would wait for the uploads before it stops them.
    for (let next = await run.outcomes.next(); !next.done; next = await run.outcomes.next()) yield* next.value;
    for (const { path: failed, error } of chooser.failures) yield createOutcome(fileAt(failed), { error });
    for (const message of [...chooser.warnings, ...chooser.unusedFilters])
      parts.notify(call)({ kind: 'warning', message });
    const { stopReason, remaining } = run.result;
    if (stopReason && remaining > 0) throw stopReason;
    await run.forget();
  } finally {
    stop.abort();
    await run.outcomes.return(undefined).finally(end);
  }
}

/** Returns an opened file if it is below a root. @throws CodedError `outside_roots` (exit 2) */
async function openBelow(roots: readonly string[] | undefined, opening: Promise<FileSource>): Promise<FileSource> {
  const source = await opening;
  if (!roots) return source;
  try {
    const real = await realpath(source.path);
    const found = await stat(real, { bigint: true });
    // The file that is open, not one that has taken its place since.
    const isOpened = String(found.ino) === source.identity.ino && String(found.dev) === source.identity.dev;
    const places = await Promise.all(roots.map((root) => realpath(root)));
    if (isOpened && places.some((root) => isBelow(real, root))) return source;
    throw new CodedError(`${source.path} is outside of the roots`, { code: 'outside_roots' });
  } catch (error) {
    await source.close();
    throw error;
  }
}

/** Returns what a caller asked for. */
export const settingsOf = (
  { requestTimeoutMs }: { requestTimeoutMs?: number | undefined },
  call: UploadCall,
): UploadSettings => ({
  ...defaultSettings,
  choice: choiceFrom(call),
  about: { name: call.name, description: call.description, contentType: call.contentType },
  existing: call.existing ?? defaultSettings.existing,
  requireChecksum: call.requireChecksum ?? false,
  transfers: call.transfers ?? defaultSettings.transfers,
  rateLimit: call.limitRate,
  chunkBytes: call.chunkBytes ?? defaultSettings.chunkBytes,
  idleTimeoutMs: requestTimeoutMs ?? defaultSettings.idleTimeoutMs,
});

/** Resolves the folder of each file. Needs no request for files that all go to the top level, or to a folder by uid. */
async function resolveFolders(
  parts: ClientParts,
  call: UploadCall,
  isTree: boolean,
  receipts: Receipts,
): Promise<FolderResolver> {
  const { folder = '/' } = call;
  const uid = isUid(folder) ? folder.toLowerCase() : undefined;
  if (!isTree && (uid !== undefined || isRootPath(folder))) return { find: () => uid, findOrCreate: async () => uid };
  const { library } = parts.openFor(call);
  const byPath = await createFolderPathResolver(library, receipts);
  const top = uid === undefined ? folder : byPath.pathOf(uid);
  if (top === undefined) throw new CodedError(`folder ${folder} does not exist`, { code: 'not_found' });
  return {
    find: (file) => byPath.find(targetPathOf(file, top, isTree)),
    findOrCreate: (file) => byPath.make(targetPathOf(file, top, isTree)),
  };
}

export function toWaitNotice({ kind, until, reason }: FileEvent & { event: 'waiting' }): Notice {
  const untilMs = Date.parse(until);
  return kind === 'retrying' ? { kind, untilMs, reason } : { kind, untilMs };
}

function reporter(notify: (notice: Notice) => void, onProgress: (progress: UploadProgress) => void) {
  const files = new Map<string, Omit<UploadProgress, 'path' | 'phase'>>();
  return (event: FileEvent): void => {
    const { path } = event;
    const counts = files.get(path) ?? { sentBytes: 0, acknowledgedBytes: 0, totalBytes: 0 };
    files.set(path, counts);
    const report = (phase: UploadProgress['phase'], change: Partial<typeof counts> = {}) =>
      onProgress({ path, phase, ...Object.assign(counts, change) });
    if (event.event === 'started') report('started', { totalBytes: event.size_bytes });
    else if (event.event === 'verifying') report('verifying');
    else if (event.event === 'resumed')
      report('sending', { sentBytes: event.offset_bytes, acknowledgedBytes: event.offset_bytes });
    else if (event.event === 'progress')
      report('sending', { sentBytes: event.bytes_sent, acknowledgedBytes: event.offset_bytes });
    else if (event.event === 'waiting') {
      report('waiting');
      notify(toWaitNotice(event));
    } else if (event.event === 'requests_resumed') notify({ kind: 'resumed' });
    else if (event.event === 'warning') notify({ kind: 'warning', message: `${path}: ${event.message}` });
    else if (event.event === 'uploaded') {
      report('done', { sentBytes: counts.totalBytes, acknowledgedBytes: counts.totalBytes });
      files.delete(path);
    }
  };
}

const toResult = (path: string, uploaded: Uploaded): UploadResult => ({
  path,
  uid: uploaded.assetUid,
  outcome: uploaded.how as LibraryOutcome,
  bytesSent: uploaded.bytesSent,
  resumedFromBytes: uploaded.resumedFrom,
  blake3: uploaded.blake3,
  isVerified: uploaded.verified,
});
