import type { Command } from '@commander-js/extra-typings';
import { asCodedError, CodedError, combineFailures, usageError } from '../../../client/errors.ts';
import { Spool } from '../../../client/upload/sources/spool.ts';
import type { Receipt } from '../../../client/upload/store/receipt-row.ts';
import { orphanOf } from '../../../client/upload/store/upload-entry.ts';
import type { UploadStore } from '../../../client/upload/store/upload-store.ts';
import { type ActionWrapper, addExamples, type CommandDefinition, type CommandOutcome } from '../../command.ts';
import type { Context } from '../../context.ts';
import { type Column, type ListResult, listBy, noResult, type Result } from '../../output/result.ts';
import type { OutputRecord } from '../../reference/schemas.ts';
import { confirm } from '../../terminal/prompt.ts';
import {
  chooseUploadId,
  findUpload,
  listPendingUploads,
  type PendingUpload,
  pendingColumns,
  sortByStart,
  toPendingUpload,
  type Unfinished,
} from '../../uploading/pending-uploads.ts';
import { cleanup } from './cleanup.ts';
import { resume } from './resume.ts';

export const uploads: CommandDefinition = (noun, run) => {
  list(noun.command('ls'), run);
  resume(noun.command('resume'), run);
  forget(noun.command('forget'), run);
  cleanup(noun.command('cleanup'), run);
};

function list(command: Command, run: ActionWrapper): void {
  addExamples(command, 'mediactl uploads ls', 'mediactl uploads ls --finished --jsonl > sent.jsonl');
  command
    .alias('list')
    .summary('list unfinished uploads')
    .description('Lists the unfinished uploads of this machine or, with --finished, the finished ones.')
    .option('--finished', 'list finished uploads, to any service')
    .action(run((context, { finished = false }) => runList(context, finished)));
}

export async function runList(context: Context, finished: boolean): Promise<Result> {
  if (finished) return listFinishedUploads(context);
  const entries = sortByStart(await listPendingUploads(context));
  const progress = await (await context.state.uploadsIfAny())?.listProgress();
  const rows = entries.map((entry) => toPendingUpload(entry, context.clock.now(), progress?.get(entry.id)));
  return listBy(({ id }) => id, rows, pendingColumns, 'no unfinished uploads');
}

const lossyStates: readonly PendingUpload['state'][] = ['planned', 'unconfirmed', 'resumable', 'expired'];

/** Returns true if forgetting an upload loses the ability to resume it, or its spool file, the only copy of stdin. */
const losesData = (entry: Unfinished, { state }: PendingUpload, isSpooled: boolean) =>
  lossyStates.includes(state) || (isSpooled && !('verified' in entry && entry.verified === true));

function forget(command: Command, run: ActionWrapper): void {
  addExamples(
    command,
    'mediactl uploads forget 3f2a9c1d5e6b7a80',
    'mediactl uploads forget --expired --yes',
    'mediactl uploads forget --all --yes',
  );
  command
    .summary('forget unfinished uploads')
    .description('Forgets unfinished uploads of this machine. Prints the assets that they created, and keeps them.')
    .argument('[upload]', 'upload id, or uid of its session or asset')
    .option('--expired', 'all uploads whose session has expired, by this machine’s clock')
    .option('--all', 'all uploads')
    .action(
      run((context, id, { expired, all }) => {
        if ([id, expired, all].filter(Boolean).length > 1)
          throw usageError('an id, --expired and --all cannot be used together', whichHint);
        return runForget(context, { id, which: all ? 'all' : expired ? 'expired' : 'one' });
      }),
    );
}

const whichHint = 'give an id from mediactl uploads ls, or --expired, or --all';

/** Uploads of this machine to forget. If it is one and `id` is undefined, the user chooses it. */
export type ForgetRequest = { id: string | undefined; which: 'one' | 'expired' | 'all' };

/** Removes unfinished uploads. Their assets stay on the service, as orphans. */
export async function runForget(context: Context, { id: given, which }: ForgetRequest): Promise<CommandOutcome> {
  const { clock, terminal } = context;
  const id = which === 'one' ? await chooseUploadId(context, given, whichHint) : undefined;
  const entries = id ? [await findUpload(context, id)] : await listPendingUploads(context);
  const selected = entries
    .map((entry) => ({ entry, shown: toPendingUpload(entry, clock.now()) }))
    .filter(({ shown }) => which !== 'expired' || shown.state === 'expired');
  if (context.isDryRun(`forget ${selected.map(({ shown }) => shown.path).join(', ') || 'nothing'}`)) return noResult;
  const spool = new Spool(context.stateDir);
  const spooled = new Set((await spool.list()).map(({ name }) => name));
  const resumable = selected.filter(({ entry, shown }) => losesData(entry, shown, spooled.has(entry.id)));
  if (resumable.length > 0)
    await confirm(
      context,
      resumable.length === 1
        ? `${resumable[0]?.shown.path} can still be resumed. Forget it?`
        : `${resumable.length} uploads can still be resumed. Forget them?`,
    );
  const store = await context.state.uploads();
  const forgotten: PendingUpload[] = [];
  const failures: CodedError[] = [];
  for (const { shown } of selected)
    await withUploadLock(store, shown.id, async () => {
      const entry = await store.read(shown.id); // might have changed while the question was open
      if (entry?.state === 'intended' || entry?.state === 'open')
        await (await context.state.receipts()).saveOrphan(entry.baseUrl, orphanOf(entry));
      await store.remove(shown.id);
      await spool.forget(shown.id);
      forgotten.push(shown);
      if (shown.asset_uid) terminal.info(`forgotten; asset ${shown.asset_uid} was not deleted`);
    }).catch((error) => failures.push(asCodedError(error).withSubject(shown.path)));
  const result = listBy(({ id: each }) => each, forgotten, pendingColumns, 'nothing to forget');
  const problem = `${failures.length} of ${selected.length} uploads could not be forgotten`;
  return { result, failure: combineFailures(selected.length, problem, failures) };
}

/** Locks the upload, because a process that is uploading the file would write its entry again. */
async function withUploadLock(store: UploadStore, id: string, work: () => Promise<void>): Promise<void> {
  const release = await store.lock(id).catch((error) => {
    throw error instanceof CodedError
      ? error.with({ hint: 'wait for it to finish or stop it, then try again' })
      : error;
  });
  try {
    await work();
  } finally {
    await release();
  }
}

type FinishedUpload = OutputRecord<'finished-upload'>;

const pageSize = 500;

/** Returns this machine's finished uploads to all services, from receipts without API requests. */
export async function listFinishedUploads(context: Context): Promise<ListResult> {
  const receipts = await context.state.receiptsIfAny();
  let isUnchecked = false;
  const pages = async function* () {
    let page: FinishedUpload[] = [];
    for await (const receipt of receipts?.all() ?? []) {
      isUnchecked ||= receipt.state === 'unchecked';
      page.push(toFinishedUpload(receipt));
      if (page.length < pageSize) continue;
      yield page;
      page = [];
    }
    yield page;
  };
  return {
    kind: 'list',
    pages: pages(),
    columns: doneColumns,
    id: ({ asset_uid }: FinishedUpload) => asset_uid,
    empty: 'no uploads from this machine yet',
    footer: () => (isUnchecked ? 'mediactl wait, to update the state of unchecked assets' : undefined),
  };
}

const toFinishedUpload = (receipt: Receipt): FinishedUpload => ({
  base_url: receipt.service,
  workspace_uid: receipt.workspace,
  folder_uid: receipt.folder || null,
  path: receipt.realPath,
  size_bytes: receipt.sizeBytes,
  source_version: receipt.mtimeNs,
  blake3: receipt.blake3,
  verified: receipt.verified,
  asset_uid: receipt.assetUid,
  session_uid: receipt.sessionUid,
  asset_name: receipt.name,
  asset_state: receipt.state,
  reason: receipt.reason,
  finished_at: receipt.at,
});

const doneColumns: Column<FinishedUpload>[] = [
  { field: 'asset_uid', uid: 'asset' },
  { field: 'path', minWidth: 18, isFirst: true },
  { field: 'size_bytes', minWidth: 9, dropPriority: 2 },
  { field: 'asset_state', noTruncate: true }, // only `wait` and --wait update it
  { field: 'finished_at', dropPriority: 1 },
];
