import { type Command, Option } from '@commander-js/extra-typings';
import { usageError } from '../../../client/errors.ts';
import { FileSource } from '../../../client/upload/sources/source.ts';
import type { UploadCandidate } from '../../../client/upload/sources/upload-candidate.ts';
import { type CorruptEntry, isCorrupt, type JournalEntry } from '../../../client/upload/store/journal-entry.ts';
import { listBy, noResult } from '../../output/result.ts';
import { progressModes } from '../../progress/progress.ts';
import { chooseUploadId, findUpload, listPendingUploads, sortByStart } from '../../uploading/pending-uploads.ts';
import { openReceipts } from '../../uploading/receipts.ts';
import { runUploads } from '../../uploading/run-uploads.ts';
import { isRemote } from '../../uploading/sources.ts';
import { defaultParallel, parseUploadOptions, parseWaitTimeout } from '../../uploading/upload-options.ts';
import { type ActionWrapper, addExamples } from '../command.ts';

export function resume(command: Command, run: ActionWrapper): void {
  addExamples(command, 'mediactl uploads resume --all', 'mediactl uploads resume 3f2a9c1d5e6b7a80 --wait');
  command
    .summary('finish uploads')
    .description('Finishes uploads that were begun on this machine with the account in use.')
    .argument('[session]', 'id of the upload, or uid of its session or asset')
    .option('--all', 'every upload of this account')
    .option('--again', 'send it from its beginning, and make a new asset')
    .option('--wait', 'wait until the assets are ready')
    .option('--timeout <duration>', 'how long to wait at most', '30m')
    .addOption(
      new Option('--progress <form>', 'what to show on stderr while it runs')
        .choices(progressModes)
        .default('auto' as const),
    )
    .action(
      run(async (context, given, { all, again, wait, timeout, progress }) => {
        const which = 'give its id from mediactl uploads ls, or --all';
        if (given && all) throw usageError('which upload?', which);
        const id = all ? undefined : await chooseUploadId(context, given, which);
        const { baseUrl, profile } = await context.account();
        const entries = id ? [await findUpload(context, id)] : sortByStart(await listPendingUploads(context));
        const readable = entries.filter((entry): entry is JournalEntry => !isCorrupt(entry));
        // Match by profile, as the key might have been rotated. The service checks permissions.
        const ownEntries = readable.filter(
          (entry) => entry.baseUrl === baseUrl.origin && (id || entry.profile === profile),
        );
        if (id && ownEntries.length === 0) {
          const [other] = readable;
          throw other
            ? usageError(
                `upload ${id} belongs to another service`,
                other.profile === 'environment'
                  ? `set MEDIACTL_BASE_URL=${other.baseUrl} and a key of it`
                  : `mediactl uploads resume ${id} --profile ${other.profile}`,
                `it was begun with profile ${other.profile} at ${other.baseUrl}`,
              )
            : notResumableError(entries[0] as CorruptEntry);
        }
        const isHere = ({ realPath }: JournalEntry) => !isNotLocal(realPath);
        if (all)
          for (const { path } of ownEntries.filter((entry) => !isHere(entry)))
            context.terminal.warn(`${path}: give the command again that began it`);
        if (all)
          for (const entry of entries.filter(isCorrupt))
            context.terminal.warn(`${notResumableError(entry).message}: ${notResumableError(entry).explanation.hint}`);
        if (context.isDryRun(`finish ${ownEntries.map(({ path }) => path).join(', ') || 'nothing'}`)) return noResult;
        const options = parseUploadOptions(context, { again });
        const files = ownEntries.filter((entry) => id || isHere(entry)).map(toUploadCandidate);
        const [first] = ownEntries;
        if (!first || files.length === 0) return listBy(() => '', [], [], 'no uploads under way');
        const folderOf = ({ resumable }: UploadCandidate) => resumable?.folder;
        return runUploads(context, {
          sources: {
            files: async function* () {
              yield* files;
            },
            ...{ failures: [], skipped: () => [], open: reopenFile, close: async () => {} },
          },
          folders: { find: folderOf, findOrCreate: async (file) => folderOf(file) },
          options: {
            ...{ ...options, workspace: first.metadata.workspace_uid, about: {} },
            ...{ parallel: defaultParallel, timeoutMs: parseWaitTimeout(wait, timeout) },
          },
          receipts: await openReceipts(context, options.again),
          identity: ownEntries.map(({ id: each }) => each),
          progress: progress,
          verbose: false,
        });
      }),
    );
}

/**
 * Creates the error for an upload that cannot be resumed. If a spool file (copy of stdin) exists, the hint is to
 * upload that file by its path.
 */
const notResumableError = ({ id, path, isSpool }: CorruptEntry) =>
  usageError(
    `upload ${id} cannot be resumed`,
    isSpool
      ? `mediactl upload '${path}' --name NAME, then mediactl uploads forget ${id}`
      : `mediactl uploads forget ${id}`,
    isSpool ? 'it came from stdin, and its name is not known' : 'its page is unreadable',
  );

/** Returns true if an input is not a local file, and only the original command can resume it. */
const isNotLocal = (path: string) => isRemote(path) || path.startsWith('stdin:');

function reopenFile(path: string) {
  if (isNotLocal(path))
    throw usageError(
      `${path} is not a file on this machine`,
      'give the command again that began it: it continues from here',
    );
  return FileSource.open(path);
}

const toUploadCandidate = ({ id, realPath, path, identity, metadata }: JournalEntry): UploadCandidate => ({
  path: realPath,
  relativeDir: '',
  about: {
    name: metadata.asset_name,
    description: metadata.description,
    contentType: metadata.content_type,
  },
  resumable: {
    id,
    folder: metadata.parent_folder_uid,
    workspace: metadata.workspace_uid,
    filename: metadata.filename,
    ...(identity !== undefined && { identity, label: path }),
  },
});
