import { type Command, Option } from '@commander-js/extra-typings';
import { usageError } from '../../../client/errors.ts';
import type { PlanPorts } from '../../../client/upload/batch/upload-ports.ts';
import type { UploadSettings } from '../../../client/upload/decide/upload-settings.ts';
import { FileChooser } from '../../../client/upload/sources/file-chooser.ts';
import type { UploadEntry } from '../../../client/upload/store/upload-entry.ts';
import { quoteForShell } from '../../../shared/sanitize.ts';
import { type ActionWrapper, addExamples, type CommandOutcome } from '../../command.ts';
import type { Context } from '../../context.ts';
import { hintOf } from '../../error-hints.ts';
import { listBy, noResult } from '../../output/result.ts';
import { progressModes } from '../../progress/progress.ts';
import {
  allUploads,
  chooseUploadId,
  findUpload,
  isOf,
  listPendingUploads,
  type SpooledInput,
  sortByStart,
  type Unfinished,
} from '../../uploading/pending-uploads.ts';
import { openReceipts } from '../../uploading/receipts.ts';
import { isNotLocal, recordedFolders, reopenFile, toUploadFile } from '../../uploading/resumed-files.ts';
import { decidePorts, runUploads } from '../../uploading/run-uploads.ts';
import { choiceNames, type UploadSources } from '../../uploading/sources.ts';
import {
  parseUploadOptions,
  parseWaitTimeout,
  type RunRequest,
  timeoutOption,
} from '../../uploading/upload-options.ts';

export function resume(command: Command, run: ActionWrapper): void {
  addExamples(command, 'mediactl uploads resume --all', 'mediactl uploads resume 3f2a9c1d5e6b7a80 --wait');
  command
    .alias('retry')
    .summary('resume unfinished uploads')
    .description('Resumes unfinished uploads that were started on this machine with the profile in use.')
    .argument('[upload]', 'upload id, or uid of its session or asset')
    .option('--all', 'resume all uploads of this profile')
    .addOption(
      new Option('--existing <what>', 'upload: from the beginning, as a new asset').choices(['upload'] as const),
    )
    .option('--wait', 'wait until the assets are ready')
    .option(...timeoutOption)
    .addOption(new Option('--progress <mode>', 'how to show progress').choices(progressModes).default('auto' as const))
    .action(
      run(async (context, typed, { all = false, progress, ...flags }) => {
        if (typed && all) throw usageError('an id and --all cannot be used together', whichHint);
        const chosen = all ? allUploads : await chooseUploadId(context, typed, whichHint, { mayBeAll: true });
        const id = chosen === allUploads ? undefined : chosen;
        const settings = resumeSettings(context, flags);
        return runResume(context, { id, progress, settings, verbose: false, resultsFile: undefined });
      }),
    );
}

type ResumeFlags = { existing?: 'upload' | undefined; wait?: boolean | undefined; timeout: string };

export const resumeSettings = (context: Context, { existing, wait, timeout }: ResumeFlags): UploadSettings => ({
  ...parseUploadOptions(context, { existing }),
  timeoutMs: parseWaitTimeout(wait, timeout),
});

const whichHint = 'mediactl uploads resume --all, or an id from mediactl uploads ls';

/** Uploads to finish: the one with an id, or all of this account. */
export type ResumeRequest = RunRequest & { id: string | undefined };

export async function runResume(context: Context, request: ResumeRequest): Promise<CommandOutcome> {
  const { id: one, settings } = request;
  const entries = await findResumable(context, request);
  if (context.isDryRun(`resume ${entries.map(({ path }) => path).join(', ') || 'nothing'}`)) return noResult;
  const files = entries.filter(({ realPath }) => one !== undefined || !isNotLocal(realPath)).map(toUploadFile);
  const [first] = entries;
  if (!first || files.length === 0) return listBy(() => '', [], [], 'no unfinished uploads');
  const sources: UploadSources = {
    ...{ inputs: [], hasFolders: false, hasDirectories: false },
    chooser: new FileChooser(settings.choice, { own: context.ownFiles, names: choiceNames }),
    files: async function* () {
      yield* files;
    },
    open: (path) => reopenFile(context, path),
    close: async () => {},
  };
  const ports: PlanPorts = {
    ...(await decidePorts(context, sources)),
    folders: recordedFolders,
    workspace: first.metadata.workspace_uid,
    receipts: await openReceipts(context, false),
    follow: { command: 'uploads resume', summary: 'as their files', writer: () => context.writer() },
  };
  return runUploads(context, request, { sources, ports, identity: entries.map(({ id }) => id), isFlat: false });
}

/** Returns the uploads to resume. With --all, warns about those that cannot be resumed from here. */
async function findResumable(context: Context, { id }: ResumeRequest): Promise<UploadEntry[]> {
  const account = await context.account();
  const entries = id ? [await findUpload(context, id)] : sortByStart(await listPendingUploads(context));
  const recorded = entries.filter((entry): entry is UploadEntry => !isSpooled(entry));
  // An id may be of another profile of the service, which checks permissions.
  const own = recorded.filter((entry) => (id ? entry.baseUrl === account.baseUrl.origin : isOf(account, entry)));
  if (id && own.length === 0) {
    const [other] = recorded;
    throw other ? otherServiceError(id, other) : notResumableError(entries[0] as SpooledInput);
  }
  if (id === undefined) {
    for (const { path } of own.filter(({ realPath }) => isNotLocal(realPath)))
      context.terminal.warn(`${path}: run the original command again to resume it`);
    const others = recorded.filter((entry) => !own.includes(entry));
    for (const hint of new Set(others.map((other) => otherAccountHint(other))))
      context.terminal.info(`another account has unfinished uploads: ${hint}`);
    for (const error of entries.filter(isSpooled).map(notResumableError))
      context.terminal.warn(`${error.message}: ${hintOf(error)}`);
  }
  return own;
}

/** Returns how to resume uploads of another account: one by its id, or all. */
const otherAccountHint = ({ profile, baseUrl }: UploadEntry, what = '--all') =>
  profile === 'environment'
    ? `set MEDIACTL_BASE_URL=${baseUrl}, and MEDIACTL_API_KEY to a key for it`
    : `mediactl uploads resume ${what} --profile ${quoteForShell(profile)}`;

const otherServiceError = (id: string, entry: UploadEntry) =>
  usageError(
    `upload ${id} belongs to another service`,
    otherAccountHint(entry, id),
    `it was started with profile ${entry.profile} at ${entry.baseUrl}`,
  );

const isSpooled = (upload: Unfinished): upload is SpooledInput => upload.state === 'spooled';

const notResumableError = ({ id, path }: SpooledInput) =>
  usageError(
    `upload ${id} cannot be resumed`,
    `mediactl upload ${quoteForShell(path)} --name NAME, then mediactl uploads forget ${id}`,
    'it came from stdin, and its name is unknown',
  );
