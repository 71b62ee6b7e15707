import { Argument, Option } from '@commander-js/extra-typings';
import type { Context } from '../../context.ts';
import { usageError } from '../../errors.ts';
import { targetFolders } from '../../library/folder-creation.ts';
import { workspaceUid } from '../../library/workspaces.ts';
import { parseDuration, parseSize } from '../../settings/units.ts';
import { readInputText } from '../../terminal/input.ts';
import { type ProgressMode, progressModes } from '../../terminal/progress.ts';
import { filesIn } from '../../upload/files.ts';
import type { UploadJob, UploadOptions } from '../../upload/job.ts';
import { maxChunkBytes } from '../../wire/tus.ts';
import { collect, type Define, example, suggesting } from '../command.ts';
import { plan } from './dry-run.ts';
import { uploadAll } from './upload-all.ts';

const idleTimeoutMs = 120_000;

export const upload: Define = (command, run) => {
  example(
    command,
    'mediactl upload ./clip.mp4 --wait',
    'mediactl upload -r ./rushes --folder /Campaigns/2026 --json',
    "mediactl upload -r ./rushes --folder /Campaigns/Spring --create-folders --exclude '*.tmp'",
    'ffmpeg -i in.mov -f mp4 - | mediactl upload - --name "From a pipe"',
  );
  command
    .description(
      'Uploads files, one after another. The same command run again goes on where the last one stopped: after a dropped line, a killed process or a restart. Every file is checked by its BLAKE3.',
    )
    .addArgument(
      suggesting(new Argument('[path...]', 'files; directories with -r; - for stdin'), 'files'),
    )
    .option('--folder <folder>', 'folder to put the assets in, by uid or path')
    .option('--create-folders', 'make it where it is missing; with -r, folders like those on disk')
    .option('--name <name>', 'name of the asset (one file only)')
    .option('--description <text>', 'description of the asset')
    .option('--content-type <type>', 'media type; guessed from the file name otherwise')
    .option('-r, --recursive', 'take the files in directories')
    .option(
      '--include <glob>',
      'with -r, only files like this; may be repeated',
      collect,
      [] as string[],
    )
    .option(
      '--exclude <glob>',
      'with -r, no files like this; may be repeated',
      collect,
      [] as string[],
    )
    .option('--from-list <file>', 'the paths in a file, one a line; - for stdin')
    .option('--wait', 'wait until the assets are ready')
    .option('--timeout <duration>', 'how long to wait at most', '30m')
    .option('--chunk-size <size>', 'bytes a request, at most 50MiB', '50MiB')
    .option('--limit-rate <size>', 'bytes a second, such as 5MiB')
    .option('--no-resume', 'forget an earlier attempt and make a new asset')
    .addOption(
      new Option('--on-expired <action>', 'when the session of an earlier attempt is gone')
        .choices(['restart', 'fail'] as const)
        .default('restart' as const),
    )
    .option('--require-checksum', 'fail where the service names no checksum')
    .addOption(
      new Option('--progress <form>', 'what to show on stderr while it runs')
        .choices(progressModes)
        .default('auto' as const),
    )
    .action(
      run(async (context, given, flags) => {
        const options = transferOptions(context, flags);
        const timeout = parseDuration('--timeout', flags.timeout);
        const { recursive = false, contentType, include, exclude } = flags;
        const paths = [...given, ...(await listed(context, flags.fromList))];
        if (paths.length === 0) throw usageError('nothing to upload', 'mediactl upload PATH');
        const found = await filesIn(paths, { recursive, contentType, include, exclude });
        const { files, failures } = found;
        if (flags.name !== undefined && files.length > 1)
          throw usageError(`--name is for one file, and there are ${files.length}`);
        for (const kind of found.passedOver) context.terminal.warn(`left out: ${kind}`);
        const workspace = await workspaceUid(context);
        const wanted = flags.folder ?? context.settings.folder ?? '/';
        const folderOf = await targetFolders(context, wanted, flags.createFolders ?? false);
        const jobs: UploadJob[] = [];
        for (const { below, ...file } of files)
          jobs.push({
            ...file,
            workspace,
            folder: await folderOf(below),
            name: flags.name,
            description: flags.description,
          });
        if (context.settings.dryRun) return plan(jobs, context);
        return uploadAll(context, jobs, options, {
          timeoutMs: flags.wait ? timeout : undefined,
          progress: progressFor(context, flags.progress),
          failures: failures.map(({ path, error }) => ({
            ...{ job: { path, workspace }, path, requests: 0, durationMs: 0, error },
          })),
        });
      }),
    );
};

/** --quiet is quiet: its uids, and what went wrong. */
export const progressFor = ({ settings }: Context, asked: ProgressMode): ProgressMode =>
  asked === 'auto' && settings.shape.format === 'quiet' ? 'none' : asked;

/** The lines of --from-list. */
async function listed(context: Context, path: string | undefined): Promise<string[]> {
  if (path === undefined) return [];
  const lines = (await readInputText(context.terminal, path)).split('\n');
  return lines.map((line) => line.replace(/\r$/, '')).filter((line) => line !== '');
}

type Flags = {
  chunkSize: string;
  limitRate?: string | undefined;
  resume: boolean;
  onExpired: 'restart' | 'fail';
  requireChecksum?: boolean | undefined;
};

/** The uploader's options from what was typed. */
export function transferOptions({ settings }: Context, flags: Flags): UploadOptions {
  const chunkBytes = parseSize('--chunk-size', flags.chunkSize);
  if (chunkBytes < 1 || chunkBytes > maxChunkBytes)
    throw usageError(
      `--chunk-size does not take '${flags.chunkSize}'`,
      'from 1 byte to 50MiB',
      'the service takes at most 50 MiB a request',
    );
  const rateLimit = flags.limitRate?.replace(/\/s$/, '');
  if (rateLimit !== undefined && parseSize('--limit-rate', rateLimit) < 1)
    throw usageError(
      `--limit-rate does not take '${flags.limitRate}'`,
      'at least one byte a second',
    );
  return {
    chunkBytes,
    rateLimit: rateLimit === undefined ? undefined : parseSize('--limit-rate', rateLimit),
    idleTimeoutMs: settings.requestTimeoutMs ?? idleTimeoutMs,
    resume: flags.resume,
    onExpired: flags.onExpired,
    requireChecksum: flags.requireChecksum ?? false,
  };
}
