import { basename, resolve } from 'node:path';
import { createFolderPathResolver } from '../../../client/changes/folder-creation.ts';
import { CodedError } from '../../../client/errors.ts';
import type { WorkspaceFolderTree } from '../../../client/library/folder-tree.ts';
import { isLibraryPath, isRootPath, withoutFolderPrefix } from '../../../client/library/library-paths.ts';
import { isDirectory } from '../../../client/local-path.ts';
import { FileMover } from '../../../client/upload/batch/file-mover.ts';
import type { PlanPorts } from '../../../client/upload/batch/upload-ports.ts';
import type { FolderResolver, UploadFile } from '../../../client/upload/sources/upload-file.ts';
import { targetPathOf } from '../../../client/upload/sources/upload-file.ts';
import type { Receipts } from '../../../client/upload/store/receipts.ts';
import { isUid } from '../../../contract/uid.ts';
import { capitalize } from '../../../shared/figures.ts';
import { quoteForShell } from '../../../shared/sanitize.ts';
import { addExamples, type CommandDefinition, type CommandOutcome } from '../../command.ts';
import type { Context } from '../../context.ts';
import { fetchFolderTree, missingFolderHint, resolveFolder, warnOfOtherCase } from '../../library/folders.ts';
import { resolveWorkspaceUid } from '../../library/workspaces.ts';
import { confirm } from '../../terminal/prompt.ts';
import { findReceipts, openReceipts } from '../../uploading/receipts.ts';
import { decidePorts, type PreparedRun, runUploads } from '../../uploading/run-uploads.ts';
import { isRemote, openSources, type UploadSources } from '../../uploading/sources.ts';
import type { PruneOptions } from './prune.ts';
import {
  addSyncOptions,
  addUploadOptions,
  assertQueueable,
  parseUploadRequest,
  type UploadRequest,
} from './upload-request.ts';

export const upload: CommandDefinition = (command, run) => {
  addExamples(
    command,
    'mediactl upload ./clip.mp4 --wait',
    'mediactl upload ./rushes /Campaigns/2026',
    'mediactl upload ./a.mp4 ./b.mp4 /Inbox --create-folders',
    "mediactl upload './rushes/*.mov' -n",
    'mediactl upload --manifest shots.csv --results outcome.jsonl',
    'mediactl upload ./rushes --queue redis://queue.lan --wait',
    'mediactl upload https://example.com/clip.mp4 rclone:archive:2026/clip.mov',
    'ffmpeg -i in.mov -f mp4 - | mediactl upload - --name "From a pipe"',
  );
  command.description(
    'Uploads files and directories, several files at once, and verifies each by its BLAKE3 checksum. Run the same command again to resume: it sends only what is missing, even after a dropped connection or a crash.',
  );
  addUploadOptions(command).action(
    run(async (context, args, flags) => runUpload(context, await parseUploadRequest(context, args, flags))),
  );
};

export const sync: CommandDefinition = (command, run) => {
  addExamples(
    command,
    'mediactl sync ./rushes /Campaigns/2026',
    'mediactl sync ./rushes /Campaigns/2026 --prune -n',
    'mediactl sync ./exports /Inbox --watch --move-to ./uploaded',
    'mediactl sync ./rushes /Campaigns/2026 --stop-at 06:00',
  );
  command.description(
    'Uploads new and changed files of a directory, with its subdirectories, and moves the assets of renamed files. Run it again to resume and to upload what is new.',
  );
  addSyncOptions(command).action(
    run(async (context, directory, folder, flags) => {
      const args = [directory, ...(folder === undefined ? [] : [folder])];
      return runUpload(context, await parseUploadRequest(context, args, flags, true));
    }),
  );
};

export async function runUpload(context: Context, request: UploadRequest): Promise<CommandOutcome> {
  const { queue, watch, pruneLimit } = request;
  const sources = await openSources(context, request);
  const prepared = await prepareRun(context, request, sources).catch(async (error) => {
    await sources.close();
    throw error;
  });
  const { workspace, receipts } = prepared.ports;
  const pruning: PruneOptions | undefined = pruneLimit && {
    ...{ directory: request.inputs[0] ?? '', top: request.folder, workspace },
    ...{ chooser: sources.chooser, limit: pruneLimit },
  };
  if (pruning) pruning.chooser.remember();
  if (request.preview) {
    const { printDryRun } = await import('./dry-run.ts');
    return printDryRun(context, request, prepared, pruning);
  }
  if (queue) {
    const { enqueue } = await import('./enqueue.ts');
    return enqueue(context, queue, request, prepared);
  }
  if (watch) {
    const { watchDirectory } = await import('./watch.ts');
    return watchDirectory(context, watch, request, prepared);
  }
  if (!pruning) return runUploads(context, request, prepared);
  return runUploads(context, request, {
    ...prepared,
    onComplete: async (startMark) => {
      const { pruneMissing } = await import('./prune.ts');
      return receipts && pruneMissing(context, pruning, { receipts, startMark });
    },
  });
}

async function prepareRun(context: Context, request: UploadRequest, sources: UploadSources): Promise<PreparedRun> {
  const { inputs, folder: top, mirrorsTree, settings, sync, preview, force } = request;
  const { shard } = settings.choice;
  if (request.queue) assertQueueable(sources.inputs);
  const workspace = await resolveWorkspaceUid(context);
  const receipts = await (preview ? findReceipts(context, force) : openReceipts(context, force));
  const { confirmFolders, ...folders } = await resolveTargetFolders(context, request, sources, receipts);
  // Absolute, so that the run's id does not depend on the working directory.
  const absolutePaths = sources.inputs.map((name) =>
    name === '-' || isRemote(name) ? name : resolve(context.host.cwd, name),
  );
  const ports: PlanPorts = {
    ...(await decidePorts(context, sources)),
    ...{ workspace, folders, receipts, mirror: sync ? inputs[0] : undefined },
    follow: { ...labelOf(request, top, absolutePaths), writer: () => context.writer() },
  };
  const run: PreparedRun = {
    sources,
    ports,
    isFlat: !mirrorsTree,
    confirmFolders,
    identity: [
      ...[top, String(mirrorsTree && sources.hasDirectories), ...absolutePaths],
      ...(shard ? [`--shard ${shard.number}/${shard.total}`] : []),
      ...(request.pruneLimit ? ['--prune'] : []),
    ],
  };
  if (request.moveTo !== undefined) {
    const isSource = await Promise.all(inputs.map(isDirectory));
    const directories = inputs.filter((_, at) => isSource[at]);
    const needsReady = settings.timeoutMs !== undefined;
    const deps = { api: ports.api, workspace, folders, needsReady, minAgeMs: request.watch?.minAgeMs };
    if (preview || !receipts) await FileMover.assertUsable(request.moveTo, directories);
    else ports.mover = await FileMover.open(request.moveTo, directories, { ...deps, receipts });
  }
  return run;
}

/** Returns how the history describes a change of assets to match their files, and the command that decides it again. */
function labelOf({ sync, manifest }: UploadRequest, top: string, paths: readonly string[]) {
  const command = sync ? 'sync' : 'upload';
  const [path, ...others] = manifest === undefined ? paths : ['--manifest', manifest];
  const name = others.length === 0 && path !== undefined ? basename(path) : (manifest ?? 'several sources');
  const isCommand = path !== undefined && path !== '-' && (others.length === 0 || manifest !== undefined);
  const words = [command, path ?? '', ...others, top].map(quoteForShell).join(' ');
  return { command, summary: `update assets to match ${name}`, source: isCommand ? `mediactl ${words}` : undefined };
}

/**
 * Creates the resolver for the folders of the files. `confirmFolders` asks, once all files are known, whether to create
 * the folders that are missing.
 *
 * @throws CodedError `not_found` (exit 3) if a folder is missing and there is no terminal to ask on
 */
async function resolveTargetFolders(
  context: Context,
  request: UploadRequest,
  sources: UploadSources,
  receipts: Receipts | undefined,
): Promise<FolderResolver & { confirmFolders?(): Promise<void> }> {
  const { folder: typed, mirrorsTree, createFolders, preview, sync } = request;
  const canCreate = createFolders || preview || context.terminal.isInteractive;
  const isTree = mirrorsTree && sources.hasDirectories;
  const isOneFolder = !isTree && !sources.hasFolders;
  const existing =
    isRootPath(typed) || (!isOneFolder && isLibraryPath(typed))
      ? undefined
      : await findFolder(context, typed, canCreate);
  if (isOneFolder && existing !== null) return { find: () => existing?.uid, findOrCreate: async () => existing?.uid };
  const byPath = await createFolderPathResolver(await context.library(), receipts);
  const pathByUid = existing && (existing.path ?? byPath.pathOf(existing.uid));
  const { tree } = await fetchFolderTree(context);
  if (existing && pathByUid === undefined) throw noSuchFolder(typed, tree);
  let top = pathByUid ?? typed;
  const missing = new Set<string>();
  let isConfirmed = createFolders;
  let isWarned = false;
  const targetOf = (file: UploadFile) => {
    const path = targetPathOf(file, top, isTree);
    const [first = ''] = path.split('/');
    return { path, uid: isUid(first) ? first.toLowerCase() : undefined };
  };
  return {
    find: (file) => {
      const { path, uid } = targetOf(file);
      const found = uid ?? byPath.find(path);
      if (found === null && !canCreate) throw noSuchFolder(path, tree);
      if (found === null) for (const each of missingPrefixes(path, byPath.find)) missing.add(each);
      return found;
    },
    findOrCreate: async (file) => {
      const { path, uid } = targetOf(file);
      return uid ?? byPath.make(path);
    },
    pathOf: (file) => targetOf(file).path,
    refresh: async () => {
      const existed = byPath.find(top) !== null;
      const present = await byPath.refresh(top);
      if (present === undefined && (!isConfirmed || isUid(typed))) throw noSuchFolder(top, tree);
      if (present === undefined && existed) context.terminal.warn(`folder ${top} is gone; it is created again`);
      top = present ?? top;
    },
    confirmFolders: async () => {
      const otherCase = [...missing].find((path) => tree.findOtherCase(path) !== undefined);
      if (otherCase !== undefined && !isWarned) warnOfOtherCase(context, tree, otherCase);
      isWarned ||= otherCase !== undefined; // a queue run asks several times
      // A sync into an existing folder creates subfolders without asking.
      if (missing.size === 0 || isConfirmed || (sync && byPath.find(top) !== null)) return;
      if (!(await confirmMissing(context, [...missing].sort(), preview))) return;
      isConfirmed = true; // also for the folders that a queue run finds later
      byPath.invalidate(); // folders might have been created while the question was open
    },
  };
}

const maxFoldersNamed = 3;

/** Asks whether to create missing folders. A preview says that the upload will ask. @returns true if the user agrees */
async function confirmMissing(context: Context, missing: readonly string[], preview: boolean): Promise<boolean> {
  const isOne = missing.length === 1;
  const problem = isOne
    ? `folder ${missing[0]} does not exist`
    : `${missing.length} folders do not exist${missing.length > maxFoldersNamed ? ', such as' : ':'} ${missing.slice(0, maxFoldersNamed).join(', ')}`;
  if (preview) {
    context.terminal.info(`${problem}; the upload will ask whether to create ${isOne ? 'it' : 'them'}`);
    return false;
  }
  await confirm(context, `${capitalize(problem)}. Create ${isOne ? 'it' : 'them'}?`, createHint);
  return true;
}

/** Returns the folders of a path that do not exist, such as `/A` and `/A/B`. */
function missingPrefixes(path: string, find: (path: string) => string | undefined | null): string[] {
  const names = path.split('/').filter(Boolean);
  const prefixes = names.map((_, at) => `/${names.slice(0, at + 1).join('/')}`);
  return prefixes.filter((prefix) => find(prefix) === null);
}

const createHint = '--create-folders creates it; mediactl folders tree, to list the folders';

const noSuchFolder = (path: string, tree: WorkspaceFolderTree) =>
  new CodedError(`folder ${path} does not exist`, {
    code: 'not_found',
    hint: missingFolderHint(tree, path, createHint),
  });

/** Returns the folder's uid, and its path unless it was given by uid. Null if it does not exist and can be created. */
async function findFolder(context: Context, typed: string, canCreate: boolean) {
  if (isUid(typed)) return { uid: typed.toLowerCase(), path: undefined };
  const { tree } = await fetchFolderTree(context);
  try {
    const { folder, path } = await resolveFolder(context, tree, typed);
    return { uid: folder.uid, path };
  } catch (error) {
    if (!(error instanceof CodedError) || error.kind !== 'notFound') throw error;
    if (canCreate) return null;
    throw error.with({ hint: missingFolderHint(tree, withoutFolderPrefix(typed), createHint) });
  }
}
