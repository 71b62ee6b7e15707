import { existsSync } from 'node:fs';
import { Argument, Command, Option, type OptionValues } from '@commander-js/extra-typings';
import { usageError } from '../../../client/errors.ts';
import { isGlob } from '../../../client/glob.ts';
import { isLibraryPath, withoutFolderPrefix } from '../../../client/library/library-paths.ts';
import { isDirectory } from '../../../client/local-path.ts';
import { defaultSettings, type UploadSettings } from '../../../client/upload/decide/upload-settings.ts';
import { choiceFrom, type FileChoice } from '../../../client/upload/sources/file-chooser.ts';
import { placeholdersIn } from '../../../client/upload/sources/upload-file.ts';
import { maxChunkSize } from '../../../contract/tus.ts';
import type { QueueAddress } from '../../../queue/queue-address.ts';
import { existingChoices } from '../../../shared/file-evidence.ts';
import { quoteForShell } from '../../../shared/sanitize.ts';
import { collect, type FlagsOf, listedHeading, withSuggestions } from '../../command.ts';
import type { Context } from '../../context.ts';
import { progressModes } from '../../progress/progress.ts';
import { parseDuration, parseMoment } from '../../settings/units.ts';
import { type LogFormat, logFormatOption } from '../../uploading/run-log.ts';
import { addChoiceOptions, isRclone, isRemote, type SourceRequest } from '../../uploading/sources.ts';
import {
  limitRateOption,
  parseLimitRate,
  parseOptionalCount,
  parseShard,
  parseUploadOptions,
  parseWaitTimeout,
  reserveOption,
  timeoutOption,
} from '../../uploading/upload-options.ts';
import { maxChangesOption, parseWriteLimit, type WriteLimit } from '../confirm-many.ts';
import { encodingOption } from '../encoding-option.ts';
import { resolveQueue } from '../queue-access.ts';
import { parseTagOption, tagOption } from '../tag-option.ts';

export const addUploadOptions = (command: Command) => addSharedOptions(addListOptions(command));

/** Adds the arguments and options of `sync`. Of those that it shares with `upload`, its help describes the usual ones. */
export function addSyncOptions(command: Command) {
  const added = addSharedOptions(addMirrorOptions(command));
  const described = /^--(?:include|exclude|min-age|create-folders|checksum|queue|stop-at|wait|verbose)$/;
  const own = new Set(addMirrorOptions(new Command()).options.map(({ long }) => long));
  for (const option of added.options)
    if (!own.has(option.long)) option.helpGroup(described.test(option.long ?? '') ? 'Files and run' : asInUpload);
  return added;
}

/** Time for which a file must stand still before a watch uploads it. */
const watchAge = '10s';

const asInUpload = listedHeading('As in upload', 'upload');

/** Adds the arguments and options of `upload` that `sync` does not have. */
const addListOptions = (command: Command) =>
  command
    .addArgument(
      withSuggestions(
        new Argument(
          '[path...]',
          'files, directories, globs, https://…, rclone:REMOTE:PATH, - for stdin; then the folder to upload to, such as /Campaigns',
        ),
        'files',
      ),
    )
    .optionsGroup('What to upload')
    .option('--files-from <file>', 'read paths from a file, one per line; - for stdin')
    .option(
      '--manifest <file>',
      'table with the columns path, name, description, folder, tags, content_type: CSV or JSON lines',
    )
    .option(...encodingOption)
    .optionsGroup('Destination')
    .option('--flatten', 'put all files of a directory into one folder, without its subdirectories')
    .optionsGroup('What is uploaded already')
    .addOption(
      new Option(
        '--existing <what>',
        'what counts as uploaded: the file itself (default), the same content in the folder (default for a single file), its name in the folder, its content anywhere; or upload all, as new assets',
      ).choices(existingChoices),
    );

/** Adds the arguments and options of `sync` that `upload` does not have. */
const addMirrorOptions = (command: Command) =>
  command
    .addArgument(withSuggestions(new Argument('<directory>', 'directory whose files are uploaded'), 'files'))
    .addArgument(withSuggestions(new Argument('[folder]', 'folder of the library, such as /Campaigns'), 'folders'))
    .optionsGroup('Directory and folder')
    .option('--watch', 'go on until you stop it: upload each file once it stands still')
    .option('--move-to <dir>', 'move each file there once it is uploaded and verified; with --wait, once it is ready')
    .option('--prune', 'move the assets of deleted files to the trash')
    .option(...maxChangesOption)
    .addOption(
      new Option(
        '--existing <what>',
        'what counts as uploaded: only the file itself (default), the same content in the folder, its name there, its content anywhere',
      ).choices(existingChoices.slice(0, -1)), // not `upload`: a sync that uploads all again mirrors nothing,
    )
    .addOption(logFormatOption());

const addSharedOptions = <Args extends unknown[], Options extends OptionValues>(command: Command<Args, Options>) =>
  addChoiceOptions(command.optionsGroup('What to upload'))
    .option('--min-age <duration>', `skip files that changed less than this long ago (2m; with --watch ${watchAge})`)
    .option('--name <name>', 'name of the asset; for several files with {stem}, {date} or {parent}')
    .option('--description <text>', 'description of each asset')
    .addOption(tagOption('--tag <slug>', 'tag of each asset'))
    .option('--content-type <type>', 'media type (default: by file name)')
    .optionsGroup('Destination')
    .option('--folder <folder>', 'folder, by path or uid; the same as a last argument')
    .option('--create-folders', 'create missing folders without asking')
    .optionsGroup('What is uploaded already')
    .option('--checksum', 'hash the files that are already uploaded, instead of comparing size and times')
    .option('--force', 'go on if the record of uploads is damaged, missing or cannot be written')
    .option('--require-checksum', 'fail if the service returns no checksum to verify')
    .optionsGroup('Speed')
    .option('--transfers <number>', `number of concurrent uploads (${defaultSettings.transfers})`)
    .option(...limitRateOption)
    .option('--chunk-size <size>', `bytes per request, at most ${maxChunkSize}`, maxChunkSize)
    .option(...reserveOption)
    .option('--stop-at <time>', 'stop at this time (06:00) or after this long (8h)')
    .optionsGroup('Several machines')
    .option('--queue [address]', 'queue the files for workers to upload (redis://HOST; default: MEDIACTL_QUEUE)')
    .option(
      '--root <[name=]path>',
      'upload only files below it, whatever links lead to; with --queue, its name on the workers; repeatable',
      collect,
      [] as string[],
    )
    .option('--shard <n/total>', 'upload part 3 of 10 (3/10); run the other parts on other machines')
    .optionsGroup('Output')
    .option('--wait', 'wait until the assets are ready')
    .option(...timeoutOption)
    .option('--results <file>', 'also write the result of each file to a file: .csv, .tsv or .jsonl')
    .option('-v, --verbose', 'list every file, not only those that failed')
    .addOption(new Option('--progress <mode>', 'how to show progress').choices(progressModes).default('auto' as const));

/** Options of `upload` or of `sync`. What one of the two does not take is undefined. */
type UploadFlags = ReturnType<ReturnType<typeof addSharedOptions<[], Record<never, never>>>['opts']> &
  Partial<FlagsOf<typeof addListOptions> & FlagsOf<typeof addMirrorOptions>>;

export type QueueChoice = { address: QueueAddress; roots: readonly string[] };

/** How to follow a directory. @property minAgeMs time for which a file must stand still */
export type WatchChoice = { minAgeMs: number; logFormat: LogFormat | undefined };

export type UploadRequest = SourceRequest & {
  /** Uid or path of the folder that all files go to or below. */
  folder: string;
  /** True to upload a directory to folders like those on disk, and false to upload it to one folder. */
  mirrorsTree: boolean;
  /** True to create missing folders without asking. */
  createFolders: boolean;
  /** True to go on where the record of uploads cannot be used. */
  force: boolean;
  /** True to make the folder like the directory, which is the only input. */
  sync: boolean;
  /** Number of assets that --prune may move to the trash; undefined without --prune. */
  pruneLimit: WriteLimit | undefined;
  /** Undefined to upload from here. */
  queue: QueueChoice | undefined;
  /** Undefined for one run. */
  watch: WatchChoice | undefined;
  /** Directory to move uploaded files to; undefined to leave them. */
  moveTo: string | undefined;
  /** True to show what the run would do with each file, and to upload nothing. */
  preview: boolean;
};

/**
 * Parses arguments and options of `upload`, or of `sync` if `sync` is true.
 *
 * @throws CodedError `usage` (exit 2) if they are wrong
 */
export async function parseUploadRequest(
  context: Context,
  args: readonly string[],
  typedFlags: UploadFlags,
  sync = false,
): Promise<UploadRequest> {
  const queue = typedFlags.queue === undefined ? undefined : splitQueueFlag(context, typedFlags.queue, args);
  const isListed = typedFlags.filesFrom !== undefined || typedFlags.manifest !== undefined;
  if (typedFlags.encoding !== undefined && !isListed) throw usageError('--encoding needs --manifest or --files-from');
  const { paths: inputs, folder } = await splitFolder(context, queue?.given ?? args, typedFlags, isListed);
  const flags = { ...typedFlags, folder: folder ?? typedFlags.folder };
  if (sync) assertSyncOptions(inputs, flags);
  assertWatchOptions(flags);
  assertMoveOptions(flags);
  if (queue) {
    assertQueueOptions(flags);
    assertQueueable(inputs);
  }
  const preview = context.settings.dryRun;
  if (flags.prune && !preview) assertCanConfirm(context);
  return {
    inputs,
    folder: withoutFolderPrefix(flags.folder ?? context.settings.folder ?? '/'),
    mirrorsTree: !flags.flatten,
    createFolders: flags.createFolders === true || context.settings.yes || (sync && !context.terminal.isInteractive),
    force: flags.force ?? false,
    sync,
    preview,
    queue: queue && { address: queue.address, roots: flags.root },
    pruneLimit: flags.prune ? parseWriteLimit(flags.maxChanges) : undefined,
    watch: parseWatch(flags),
    moveTo: flags.moveTo,
    settings: parseSettings(context, flags, !sync && (await isOneFile(inputs, isListed))),
    filesFrom: flags.filesFrom,
    manifest: flags.manifest,
    encoding: flags.encoding,
    tags: parseTagOption('--tag', flags.tag),
    roots: queue ? [] : flags.root,
    nameTemplate: isTemplate(flags.name) ? flags.name : undefined,
    resultsFile: flags.results,
    progress: flags.progress,
    verbose: flags.verbose ?? false,
  };
}

const isTemplate = (name: string | undefined) => name !== undefined && placeholdersIn(name).length > 0;

/** Returns true if the inputs name a single file, which is skipped if the folder has its content under another name. */
async function isOneFile([first = '', ...others]: readonly string[], isListed: boolean): Promise<boolean> {
  return !isListed && others.length === 0 && !isGlob(first) && !isRclone(first) && !(await isDirectory(first));
}

/** Returns what the user asked for of the upload itself. A single file has its own default of what counts as uploaded. */
function parseSettings(context: Context, flags: UploadFlags, isSingle: boolean): UploadSettings {
  const { name, description, contentType, existing = isSingle ? 'content' : 'file' } = flags;
  const { clock } = context;
  return {
    ...parseUploadOptions(context, { ...flags, existing }),
    choice: parseChoice(context, flags),
    about: { name: isTemplate(name) ? undefined : name, description, contentType },
    timeoutMs: parseWaitTimeout(flags.wait, flags.timeout),
    transfers: parseOptionalCount('--transfers', flags.transfers, 1) ?? defaultSettings.transfers,
    rateLimit: parseLimitRate(flags.limitRate),
    reserveRequests: parseOptionalCount('--reserve-requests', flags.reserveRequests, 0),
    stopAt:
      flags.stopAt === undefined
        ? undefined
        : { time: parseMoment('--stop-at', flags.stopAt, clock.now()), typed: flags.stopAt },
  };
}

const parseChoice = ({ clock }: Context, flags: UploadFlags): FileChoice =>
  choiceFrom({
    ...flags,
    // A watch looks at each file twice instead.
    recent: flags.watch ? undefined : parseMinAge(clock.now(), flags.minAge),
    shard: parseShard(flags.shard),
    mayBeEmpty: flags.moveTo !== undefined,
  });

/** Fails before an upload that can take hours, rather than when a prune asks. @throws CodedError `usage` (exit 2) */
function assertCanConfirm({ settings, terminal }: Context): void {
  if (settings.yes || terminal.isInteractive) return;
  throw usageError(
    '--prune needs confirmation, and cannot prompt: this is not an interactive terminal',
    'run the same command with --yes',
  );
}

/** @param isListed true if a list names the files, so that a single argument can be the folder */
async function splitFolder(context: Context, args: readonly string[], flags: UploadFlags, isListed: boolean) {
  const last = args.at(-1) ?? '';
  // With --flatten or --folder, what exists locally is local.
  const isExplicit = flags.flatten === true || flags.folder !== undefined;
  if (isExplicit && existsSync(last)) return { paths: args, folder: undefined };
  const canBeFolder = args.length > (isListed ? 0 : 1);
  if (!isLibraryPath(last) || !(canBeFolder || (await isDirectory(last)))) return { paths: args, folder: undefined };
  const { splitTargetFolder } = await import('./target-folder.ts');
  return splitTargetFolder(context, args, flags.folder, canBeFolder);
}

function assertSyncOptions(inputs: readonly string[], flags: UploadFlags): void {
  if (flags.prune && flags.folder === undefined)
    throw usageError(
      '--prune needs a folder',
      'mediactl sync DIR /FOLDER --prune',
      'it moves assets in that folder to the trash',
    );
  if (flags.prune && flags.existing !== undefined && flags.existing !== 'file')
    throw usageError(
      `--prune and --existing ${flags.existing} cannot be used together`,
      'omit one of them',
      'the asset of a renamed file could be moved to the trash although the file was skipped',
    );
  if (flags.maxChanges !== undefined && !flags.prune) throw usageError('--max-changes needs --prune');
  const [first = '', second] = inputs;
  if (inputs.length === 2 && isLibraryPath(first) && !existsSync(first))
    throw usageError(
      'a sync uploads a directory to a folder, not the other way round',
      [
        ...(existsSync(second ?? '') ? [`mediactl sync ${quoteForShell(second ?? '')} ${quoteForShell(first)}`] : []),
        `mediactl download ${quoteForShell(first)} -d ${quoteForShell(second ?? '')}`,
      ].join('; or the other way: '),
    );
  if (inputs.length !== 1) throw usageError('a sync needs one directory', 'mediactl sync ./rushes /Rushes');
  if (first === '-' || isRemote(first))
    throw usageError(
      `a sync needs a directory on this machine, not ${first === '-' ? 'stdin' : first}`,
      `mediactl upload ${quoteForShell(first)} ${quoteForShell(flags.folder ?? '/FOLDER')}, which skips what is already uploaded`,
    );
}

const parseWatch = ({ watch, minAge = watchAge, logFormat }: UploadFlags): WatchChoice | undefined =>
  watch ? { minAgeMs: parseDuration('--min-age', minAge), logFormat } : undefined;

/** @throws CodedError `usage` (exit 2) */
function assertWatchOptions(flags: UploadFlags): void {
  if (flags.logFormat !== undefined && !flags.watch) throw usageError('--log-format needs --watch');
  if (!flags.watch) return;
  if (flags.prune)
    throw exclude(
      '--watch',
      '--prune',
      'mediactl sync DIR /FOLDER --prune',
      'no one can confirm a deletion during a watch',
    );
  if (flags.queue !== undefined) throw exclude('--watch', '--queue');
  if (flags.results !== undefined)
    throw exclude('--watch', '--results', '--jsonl > FILE writes each result as it comes');
  if (flags.checksum !== undefined) throw exclude('--watch', '--checksum');
}

const exclude = (option: string, other: string, hint = 'omit one of them', reason?: string) =>
  usageError(`${option} and ${other} cannot be used together`, hint, reason);

/** @throws CodedError `usage` (exit 2) */
function assertMoveOptions(flags: UploadFlags): void {
  if (flags.moveTo === undefined) return;
  const other = flags.queue !== undefined ? '--queue' : flags.force !== undefined ? '--force' : undefined;
  if (other)
    throw exclude('--move-to', other, 'omit one of them', 'a file is moved only once its receipt is on this disk');
}

/**
 * Returns the queue to use and the inputs. If the value of `--queue` is no address, as in `--queue clip.mp4`, it becomes
 * the first input, and the configured queue is used.
 *
 * @param typed value of `--queue`, or true if it has none
 * @throws CodedError `usage` (exit 2) if no queue is configured
 */
function splitQueueFlag(context: Context, typed: string | true, args: readonly string[]) {
  if (typed === true) return { address: resolveQueue(context, undefined), given: args };
  if (/^[a-z]+:\/\//i.test(typed)) return { address: resolveQueue(context, typed), given: args };
  return { address: resolveQueue(context, undefined), given: [typed, ...args] };
}

function assertQueueOptions(flags: UploadFlags): void {
  for (const [option, value] of [
    ['--transfers', flags.transfers],
    ['--limit-rate', flags.limitRate],
    ['--reserve-requests', flags.reserveRequests],
  ] as const)
    if (value !== undefined)
      throw usageError(
        `${option} cannot be used with --queue; set it on each worker`,
        `add ${option} ${value} to mediactl queue work`,
      );
  if (flags.prune || (flags.stopAt !== undefined && !flags.wait))
    throw usageError(
      `--queue does not accept ${flags.prune ? '--prune' : '--stop-at without --wait'}`,
      'omit one of them',
      'the workers continue after this command ends',
    );
}

/** Checks that workers can read the inputs. @throws CodedError `usage` (exit 2) */
export function assertQueueable(inputs: readonly string[]): void {
  const unreachable = inputs.find((path) => path === '-' || isRclone(path));
  if (unreachable !== undefined)
    throw usageError(
      `${unreachable === '-' ? 'stdin' : unreachable} cannot be queued`,
      'upload it from here, without --queue',
      'workers can only read files by path and URLs',
    );
}

/** Returns the change times with which `--min-age` skips a file: as far from now as it says, since clocks differ. */
function parseMinAge(now: number, minAge: string | undefined): FileChoice['recent'] {
  if (minAge === undefined) return undefined;
  const ageMs = parseDuration('--min-age', minAge);
  return { since: now - ageMs, until: now + ageMs };
}
