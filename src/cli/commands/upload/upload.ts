import { resolve } from 'node:path';
import { exitCodes } from '../../../client/error-table.ts';
import { MediactlError, usageError } from '../../../client/errors.ts';
import type { FolderResolver, UploadCandidate } from '../../../client/upload/sources/upload-candidate.ts';
import type { Receipts } from '../../../client/upload/store/receipts.ts';
import { isUid } from '../../../contract/uid.ts';
import type { Context } from '../../context.ts';
import { isRootPath, resolveFolderUid } from '../../library/folders.ts';
import { resolveWorkspaceUid } from '../../library/workspaces.ts';
import { createdFoldersOf, openReceipts } from '../../uploading/receipts.ts';
import { type RunRequest, runUploads } from '../../uploading/run-uploads.ts';
import { isRemote, openSources, type UploadSources } from '../../uploading/sources.ts';
import { addExamples, type CommandDefinition, type CommandOutcome } from '../command.ts';
import type { PruneOptions } from './prune.ts';
import { addUploadOptions, assertQueueable, parseUploadRequest, type UploadRequest } from './upload-request.ts';

export const upload: CommandDefinition = (command, run) => {
  addExamples(
    command,
    'mediactl upload ./clip.mp4 --wait',
    'mediactl upload -r ./rushes --folder /Campaigns/2026 --create-folders',
    'mediactl upload --sync ./rushes --folder /Campaigns/2026 --until 06:00',
    "mediactl upload './rushes/*.mov' --plan",
    'mediactl upload --manifest shots.csv --manifest-out outcome.jsonl',
    'mediactl upload -r ./rushes --queue redis://queue.lan --wait',
    'mediactl upload https://example.com/clip.mp4 rclone:archive:2026/clip.mov',
    'ffmpeg -i in.mov -f mp4 - | mediactl upload - --name "From a pipe"',
  );
  command.description(
    'Uploads files, several at once. The same command run again sends what is missing and nothing twice: after a dropped line, a killed process or a month. Every file is checked by its BLAKE3.',
  );
  addUploadOptions(command).action(
    run((context, args, flags) => runUpload(context, parseUploadRequest(context, args, flags))),
  );
};

export async function runUpload(context: Context, request: UploadRequest): Promise<CommandOutcome> {
  const { queue, preview, pruneLimit } = request;
  const sources = await openSources(context, request.inputs, request.sources);
  const { run, target } = await prepareRun(context, request, sources).catch(async (error) => {
    await sources.close();
    throw error;
  });
  const pruning: PruneOptions | undefined = pruneLimit && { ...target, limit: pruneLimit };
  if (preview) {
    const { printDryRun, printPlanTotals } = await import('./dry-run.ts');
    return (preview === 'totals' ? printPlanTotals : printDryRun)(context, run, pruning);
  }
  if (queue) {
    const { enqueue } = await import('../queue/enqueue.ts');
    return enqueue(context, queue.address, queue.roots, run);
  }
  if (!pruning) return runUploads(context, run);
  return runUploads(context, {
    ...run,
    onComplete: async (startMark) => {
      const { pruneMissing } = await import('./prune.ts');
      await pruneMissing(context, pruning, run.receipts, startMark);
    },
  });
}

/** Resolves workspace and folders, opens the receipts, and returns the run and the directory that it syncs. */
async function prepareRun(context: Context, request: UploadRequest, sources: UploadSources) {
  const { inputs, folder: top, createFolders, options, sync, preview } = request;
  const { shard, manifestOut } = request.sources;
  if (request.queue) assertQueueable(sources.inputs);
  const workspace = await resolveWorkspaceUid(context);
  const { again } = options;
  const existing = async () => (again ? undefined : context.receiptsIfAny());
  const receipts = await (preview ? existing() : openReceipts(context, again));
  const folders = await resolveTargetFolders(context, request, sources.hasFolders, receipts);
  // Absolute, so that the run's id does not depend on the working directory.
  const absolutePaths = sources.inputs.map((name) =>
    name === '-' || isRemote(name) ? name : resolve(context.host.cwd, name),
  );
  const target = { directory: inputs[0] ?? '', top, workspace, movedUids: new Set<string>() };
  const run: RunRequest = {
    sources,
    folders,
    receipts,
    manifestOut,
    options: { ...options, workspace },
    rateLimit: request.rateLimit,
    reserve: request.reserve,
    until: request.until,
    progress: request.progress,
    verbose: request.verbose,
    isFlat: !createFolders,
    identity: [
      ...[top, String(createFolders), ...absolutePaths],
      ...(shard ? [`--shard ${shard.number}/${shard.total}`] : []),
      ...(request.pruneLimit ? ['--prune'] : []),
    ],
    ...(options.about.name !== undefined && { singleFileOption: '--name' }),
  };
  if (sync && receipts) {
    const { createMovedFileFinder } = await import('./moved-files.ts');
    const isPruned = request.pruneLimit !== undefined;
    const synced = { ...target, folders, open: sources.open, isPruned, isDryRun: preview !== undefined };
    run.findMoved = createMovedFileFinder(context, synced, receipts);
  }
  return { run, target };
}

/** @throws MediactlError `not_found` (exit 3) if the folder does not exist and is not to be created */
async function resolveTargetFolders(
  context: Context,
  { folder: top, createFolders: create }: Pick<UploadRequest, 'folder' | 'createFolders'>,
  hasManifestFolders: boolean,
  receipts: Receipts | undefined,
): Promise<FolderResolver> {
  if (!create && !hasManifestFolders) {
    const uid = isRootPath(top) ? undefined : await resolveFolderUid(context, top).catch(addCreateHint);
    return { find: () => uid, findOrCreate: async () => uid };
  }
  if (create && isUid(top)) throw usageError('--create-folders takes a path', '--folder /Campaigns/2026');
  const { createFolderPathResolver } = await import('../../library/folder-creation.ts');
  const { origin } = (await context.account()).baseUrl;
  const byPath = await createFolderPathResolver(
    context,
    async (workspace) => receipts && createdFoldersOf(receipts, origin, workspace),
  );
  const targetOf = (file: UploadCandidate) => {
    const folder = file.about?.folder ?? top;
    const path = create ? `${folder}/${file.relativeDir}` : folder;
    const [first = ''] = path.split('/');
    return { path, uid: isUid(first) ? first.toLowerCase() : undefined };
  };
  return {
    find: (file) => {
      const { path, uid } = targetOf(file);
      const found = uid ?? byPath.find(path);
      if (found !== null || create) return found;
      throw usageError(
        `${file.path}: no folder ${path}`,
        '--create-folders makes what is missing; mediactl folders tree',
      );
    },
    findOrCreate: async (file) => {
      const { path, uid } = targetOf(file);
      return uid ?? byPath.make(path);
    },
  };
}

function addCreateHint(error: unknown): never {
  const isMissing = error instanceof MediactlError && error.exitCode === exitCodes.notFound;
  throw isMissing
    ? error.with({ hint: '--create-folders makes it; mediactl folders tree shows those there are' })
    : error;
}
