import { Argument, type Command, Option, type OptionValues } from '@commander-js/extra-typings';
import { usageError } from '../../../client/errors.ts';
import type { QueueAddress } from '../../../client/queue/queue-address.ts';
import type { RunOptions } from '../../../client/upload/batch/batch-uploader.ts';
import { maxChunkSize } from '../../../contract/tus.ts';
import type { Context } from '../../context.ts';
import { progressModes } from '../../progress/progress.ts';
import { parseMoment, parseSize } from '../../settings/units.ts';
import type { RunRequest } from '../../uploading/run-uploads.ts';
import { isRclone, type SourceOptions } from '../../uploading/sources.ts';
import {
  defaultParallel,
  parseLimitRate,
  parseOptionalCount,
  parseShard,
  parseUploadOptions,
  parseWaitTimeout,
} from '../../uploading/upload-options.ts';
import { collect, withSuggestions } from '../command.ts';
import { parseWriteLimit, type WriteLimit } from '../confirm-many.ts';
import { queueFlag, resolveQueue } from '../queue/queue.ts';

export const addUploadOptions = (command: Command) => addTransferOptions(addRunOptions(addFileOptions(command)));

type UploadFlags = ReturnType<ReturnType<typeof addUploadOptions>['opts']>;

const addFileOptions = (command: Command) =>
  command
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
    .option('--manifest-out <file>', 'write what becomes of each file there too, as JSON lines');

const addRunOptions = <Args extends unknown[], Options extends OptionValues>(command: Command<Args, Options>) =>
  command
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
    .option('--timeout <duration>', 'how long to wait at most, after the last upload', '30m');

const addTransferOptions = <Args extends unknown[], Options extends OptionValues>(command: Command<Args, Options>) =>
  command
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
    .option('--chunk-size <size>', `bytes a request, at most ${maxChunkSize}`, maxChunkSize)
    .option('--limit-rate <size>', 'bytes a second in all, such as 5MiB')
    .addOption(
      new Option('--on-expired <action>', 'when the session of an earlier attempt is gone')
        .choices(['restart', 'fail'] as const)
        .default('restart' as const),
    )
    .option('--require-checksum', 'fail if the service gives no checksum')
    .option('-v, --verbose', 'show what became of every file, not only of those that failed')
    .addOption(new Option('--progress <form>', 'what to show').choices(progressModes).default('auto' as const));

export type UploadRequest = Pick<RunRequest, 'rateLimit' | 'reserve' | 'until' | 'progress' | 'verbose'> & {
  /** Paths, globs and URLs as the user entered them. */
  inputs: readonly string[];
  sources: SourceOptions;
  /** Uid or path of the folder that all files go to or below. */
  folder: string;
  /** True to create missing folders and mirror the directory tree. */
  createFolders: boolean;
  options: Omit<RunOptions, 'workspace'>;
  /** True to make the folder like the directory, which is the only input. */
  sync: boolean;
  /** Number of assets that --prune may move to the trash; undefined without --prune. */
  pruneLimit: WriteLimit | undefined;
  /** Queue whose workers upload the files, and its named directories; undefined to upload from here. */
  queue: { address: QueueAddress; roots: readonly string[] } | undefined;
  /** Shows the totals (`--plan`) or each file (`--dry-run`) instead of uploading; undefined to upload. */
  preview: 'totals' | 'files' | undefined;
};

/** Parses arguments and options of `upload`. @throws MediactlError `usage` (exit 2) if they are wrong */
export function parseUploadRequest(context: Context, args: readonly string[], flags: UploadFlags): UploadRequest {
  const sync = flags.sync ?? false;
  const queue = flags.queue === undefined ? undefined : resolveQueue(context, flags.queue, args);
  const inputs = queue?.given ?? args;
  if (!queue && flags.root.length > 0) throw usageError('--root is of --queue');
  assertSyncOptions(inputs, flags);
  if (queue) {
    assertQueueOptions(flags);
    assertQueueable(inputs);
  }
  const preview = flags.plan ? 'totals' : context.settings.dryRun ? 'files' : undefined;
  // Fail before an upload that can take hours, rather than when it asks.
  if (flags.prune && !preview && !context.settings.yes && !context.terminal.isInteractive)
    throw usageError(
      '--prune asks before it moves assets to the trash, and cannot ask: this is not an interactive terminal',
      'the same command with --yes',
    );
  const { name, description, contentType } = flags;
  const options = parseUploadOptions(context, {
    ...flags,
    again: flags.again || !flags.resume,
    same: sync ? 'upload' : flags.same,
  });
  return {
    inputs,
    folder: flags.folder ?? context.settings.folder ?? '/',
    createFolders: sync || (flags.createFolders ?? false),
    sync,
    preview,
    queue: queue && { address: queue.address, roots: flags.root },
    pruneLimit: flags.prune ? parseWriteLimit('--max-delete', flags.maxDelete) : undefined,
    options: {
      ...options,
      about: { name, description, contentType },
      timeoutMs: parseWaitTimeout(flags.wait, flags.timeout),
      parallel: parseOptionalCount('--parallel', flags.parallel, 1) ?? defaultParallel,
    },
    sources: {
      include: flags.include,
      exclude: flags.exclude,
      recursive: sync || (flags.recursive ?? false),
      fromList: flags.fromList,
      manifest: flags.manifest,
      manifestOut: flags.manifestOut,
      name,
      chunkBytes: options.chunkBytes,
      shard: parseShard(flags.shard),
      sizeBytes: flags.size === undefined ? undefined : parseSize('--size', flags.size),
    },
    rateLimit: parseLimitRate(flags.limitRate),
    reserve: parseOptionalCount('--reserve', flags.reserve, 0),
    until:
      flags.until === undefined
        ? undefined
        : { time: parseMoment('--until', flags.until, context.clock.now()), typed: flags.until },
    progress: flags.progress,
    verbose: flags.verbose ?? false,
  };
}

function assertSyncOptions(inputs: readonly string[], flags: UploadFlags): void {
  if (flags.prune && !flags.sync) throw usageError('--prune goes with --sync');
  if (flags.prune && flags.folder === undefined)
    throw usageError('--prune wants --folder', 'it trashes what is in that folder, and below');
  if (flags.maxDelete !== undefined && !flags.prune) throw usageError('--max-delete goes with --prune');
  if (!flags.sync) return;
  if (inputs.length !== 1 || flags.fromList !== undefined || flags.manifest !== undefined)
    throw usageError('--sync takes one directory', 'mediactl upload --sync ./rushes --folder /Rushes');
  if (flags.again) throw usageError('--sync and --again cannot be used together');
}

function assertQueueOptions(flags: UploadFlags): void {
  for (const [option, value] of [
    ['--parallel', flags.parallel],
    ['--limit-rate', flags.limitRate],
    ['--reserve', flags.reserve],
  ] as const)
    if (value !== undefined)
      throw usageError(
        `with --queue, ${option} is each worker’s own`,
        option === '--parallel' ? 'mediactl worker --concurrency N' : `mediactl worker ${option} ${value}`,
      );
  if (flags.prune || (flags.until !== undefined && !flags.wait))
    throw usageError(
      `--queue does not accept ${flags.prune ? '--prune' : '--until without --wait'}`,
      'leave out one of them',
      'the workers continue whatever this command does',
    );
}

/** Checks that workers can read the inputs. @throws MediactlError `usage` (exit 2) */
export function assertQueueable(inputs: readonly string[]): void {
  const unreachable = inputs.find((path) => path === '-' || isRclone(path));
  if (unreachable !== undefined)
    throw usageError(
      `${unreachable === '-' ? 'stdin' : unreachable} cannot be queued`,
      'upload it from here, without --queue',
      'workers read files that they reach by path, and addresses',
    );
}
