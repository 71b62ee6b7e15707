import { Argument, Option } from '@commander-js/extra-typings';
import { usageError } from '../../../client/errors.ts';
import { resolveWorkspaceUid } from '../../library/workspaces.ts';
import { progressModes } from '../../progress/progress.ts';
import { openReceipts } from '../../uploading/receipts.ts';
import { type RunRequest, runUploads, toAbsolutePaths } from '../../uploading/run-uploads.ts';
import { openSources } from '../../uploading/sources.ts';
import {
  defaultParallel,
  parseLimitRate,
  parseOptionalCount,
  parseShard,
  parseUntil,
  parseUploadOptions,
  parseWaitTimeout,
} from '../../uploading/upload-options.ts';
import { addExamples, type CommandDefinition, collect, withSuggestions } from '../command.ts';
import { assertQueueable, enqueue } from '../queue/enqueue.ts';
import { queueFlag, resolveQueue } from '../queue/queue.ts';
import { printDryRun, printPlanTotals } from './dry-run.ts';
import { createMovedFileFinder } from './moved-files.ts';
import { assertMayPrune, assertSyncOptions, parsePruneLimit, pruneMissing } from './prune.ts';
import { resolveTargetFolders } from './target-folders.ts';

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
  command
    .description(
      'Uploads files, several at once. The same command run again sends what is missing and nothing twice: after a dropped line, a killed process or a month. Every file is checked by its BLAKE3.',
    )
    .addArgument(
      withSuggestions(
        new Argument('[path...]', 'files, globs, directories with -r; https://…; rclone:REMOTE:PATH; - for stdin'),
        'files',
      ),
    )
    .option('--folder <folder>', 'folder to put the assets in, by uid or path')
    .option('--create-folders', 'make it where it is missing; with -r, folders like those on disk')
    .option('--name <name>', 'name of the asset (one file only)')
    .option('--description <text>', 'description of the asset')
    .option('--content-type <type>', 'media type; guessed from the file name otherwise')
    .option('-r, --recursive', 'take the files in directories')
    .option('--include <glob>', 'with -r, only files like this; may be repeated', collect, [] as string[])
    .option('--exclude <glob>', 'with -r, no files like this; may be repeated', collect, [] as string[])
    .option('--from-list <file>', 'the paths in a file, one a line; - for stdin')
    .option('--manifest <file>', 'the files in CSV or JSON lines: path, name, description, folder, tags, content_type')
    .option('--manifest-out <file>', 'write what becomes of each file there too, as JSON lines')
    .option('--plan', 'print what would be sent and what it takes, and send nothing')
    .option('--sync', 'make the folder like the directory: -r, --create-folders, every file')
    .option('--prune', 'with --sync, move assets to the trash whose files are gone')
    .option('--max-delete <number>', 'with --prune, how many at most (100)')
    .option('--again', 'send it even if it was sent before, as a new asset')
    .addOption(new Option('--no-resume', 'the same').hideHelp())
    .addOption(
      new Option('--same <action>', 'what to do with content that the same folder already has under another name')
        .choices(['skip', 'upload'] as const)
        .default('skip' as const),
    )
    .option('--size <size>', 'length of stdin; it is then sent without a copy on the disk')
    .option('--wait', 'wait until the assets are ready')
    .option('--timeout <duration>', 'how long to wait at most, after the last upload', '30m')
    .option('--parallel <number>', `files sent at once (${defaultParallel})`)
    .option('--shard <part>', 'send one part of the files, such as 3/10; other machines the others')
    .option(queueFlag, 'hand the files to the workers of a queue (redis://HOST; else MEDIACTL_QUEUE)')
    .option(
      '--root <name=path>',
      'with --queue, a directory that workers know by a name; may be repeated',
      collect,
      [] as string[],
    )
    .option('--until <time>', 'stop then, to continue another time: 06:00, or a while such as 8h')
    .option('--reserve <requests>', 'requests an hour to leave for other uses (10, or 5 %)')
    .option('--chunk-size <size>', 'bytes a request, at most 50MiB', '50MiB')
    .option('--limit-rate <size>', 'bytes a second in all, such as 5MiB')
    .addOption(
      new Option('--on-expired <action>', 'when the session of an earlier attempt is gone')
        .choices(['restart', 'fail'] as const)
        .default('restart' as const),
    )
    .option('--require-checksum', 'fail if the service gives no checksum')
    .option('-v, --verbose', 'show what became of every file, not only of those that failed')
    .addOption(new Option('--progress <form>', 'what to show').choices(progressModes).default('auto' as const))
    .action(
      run(async (context, typed, flags) => {
        const sync = flags.sync ?? false;
        const queue = flags.queue === undefined ? undefined : resolveQueue(context, flags.queue, typed);
        const given = [...(queue?.given ?? typed)];
        if (!queue && flags.root.length > 0) throw usageError('--root is of --queue');
        assertSyncOptions(given, flags);
        if (queue) assertQueueable(given, flags);
        const options = parseUploadOptions(context, {
          ...flags,
          again: flags.again || !flags.resume,
          same: sync ? 'upload' : flags.same,
        });
        const timeoutMs = parseWaitTimeout(flags.wait, flags.timeout);
        const parallel = parseOptionalCount('--parallel', flags.parallel, 1) ?? defaultParallel;
        const rateLimit = parseLimitRate(flags.limitRate);
        const sources = await openSources(context, given, {
          ...flags,
          recursive: sync || (flags.recursive ?? false),
          chunkBytes: options.chunkBytes,
          shard: parseShard(flags.shard),
        });
        if (queue)
          try {
            assertQueueable(sources.inputs, flags);
          } catch (error) {
            await sources.close();
            throw error;
          }
        const workspace = await resolveWorkspaceUid(context);
        const isPlan = flags.plan === true || context.settings.dryRun;
        const receipts = await (isPlan
          ? options.again
            ? undefined
            : context.receiptsIfAny()
          : openReceipts(context, options.again));
        const top = flags.folder ?? context.settings.folder ?? '/';
        const create = sync || (flags.createFolders ?? false);
        const folders = await resolveTargetFolders(
          context,
          { top, create, hasManifestFolders: sources.hasFolders },
          receipts,
        );
        const { name, description, contentType, prune, maxDelete } = flags;
        const request: RunRequest = {
          sources,
          folders,
          options: {
            ...options,
            ...{ workspace, parallel, timeoutMs, about: { name, description, contentType } },
          },
          receipts,
          identity: [
            ...[top, String(create), ...toAbsolutePaths(context.host.cwd, sources.inputs)],
            ...(flags.shard ? [`--shard ${flags.shard}`] : []),
            ...(flags.prune ? ['--prune'] : []),
          ],
          progress: flags.progress,
          rateLimit,
          reserve: parseOptionalCount('--reserve', flags.reserve, 0),
          until: parseUntil(context, flags.until),
          verbose: flags.verbose ?? false,
          isFlat: !create,
          manifestOut: flags.manifestOut,
          ...(name !== undefined && { singleFileOption: '--name' }),
        };
        const [directory = ''] = given;
        const target = { directory, top, workspace, movedUids: new Set<string>() };
        const synced = { ...target, folders, open: sources.open, prune, isDryRun: isPlan };
        if (sync && receipts) request.findMoved = createMovedFileFinder(context, synced, receipts);
        const pruning = prune ? { ...target, limit: parsePruneLimit(maxDelete) } : undefined;
        if (isPlan) return (flags.plan ? printPlanTotals : printDryRun)(context, request, pruning);
        if (queue) return enqueue(context, queue.address, flags.root, request);
        if (prune) assertMayPrune(context);
        return runUploads(context, {
          ...request,
          ...(pruning && {
            onComplete: (before) => pruneMissing(context, pruning, receipts, before),
          }),
        });
      }),
    );
};
