import type { Command } from '@commander-js/extra-typings';
import { asMediactlError, combineFailures, MediactlError, usageError } from '../../../client/errors.ts';
import { Spool } from '../../../client/upload/sources/spool.ts';
import type { UploadJournal } from '../../../client/upload/store/journal.ts';
import type { CorruptEntry, JournalEntry } from '../../../client/upload/store/journal-entry.ts';
import type { Orphan } from '../../../client/upload/store/receipts.ts';
import { listBy, noResult } from '../../output/result.ts';
import { confirm } from '../../terminal/prompt.ts';
import {
  chooseUploadId,
  findUpload,
  listPendingUploads,
  type PendingUpload,
  pendingColumns,
  sortByStart,
  toPendingUpload,
} from '../../uploading/pending-uploads.ts';
import { type ActionWrapper, addExamples, type CommandDefinition } from '../command.ts';
import { queueFlag, queueFlagHelp } from '../queue/queue.ts';
import { parseForgetRequest, retry, runForget } from '../queue/queue-changes.ts';
import { listQueuedUploads, watch } from '../queue/queue-list.ts';
import { importDone, listFinishedUploads } from './finished-uploads.ts';
import { gc } from './gc.ts';
import { resume } from './resume.ts';
import { wait } from './wait.ts';

export const uploads: CommandDefinition = (noun, run) => {
  list(noun.command('ls'), run);
  resume(noun.command('resume'), run);
  wait(noun.command('wait'), run);
  forget(noun.command('forget'), run);
  gc(noun.command('gc'), run);
  importDone(noun.command('import'), run);
  watch(noun.command('watch'), run);
  retry(noun.command('retry'), run);
};

function list(command: Command, run: ActionWrapper): void {
  addExamples(
    command,
    'mediactl uploads ls',
    'mediactl uploads ls --done --jsonl > sent.jsonl',
    'mediactl uploads ls --queue redis://queue.lan',
  );
  command
    .alias('list')
    .summary('list the uploads under way')
    .description(
      'Lists the uploads that were begun on this machine and are not finished; with --done those that are. With --queue, those of a queue.',
    )
    .option('--done', 'what was sent from this machine, to any service; of a queue, what is done')
    .option(queueFlag, queueFlagHelp)
    .action(
      run(async (context, { done, queue }) => {
        if (queue !== undefined) return listQueuedUploads(context, queue, done);
        if (done) return listFinishedUploads(context);
        return listBy(
          ({ id }) => id,
          sortByStart(await listPendingUploads(context)).map((entry) => toPendingUpload(entry, context.clock.now())),
          pendingColumns,
          'no uploads under way',
        );
      }),
    );
}

/**
 * Returns true if forgetting an upload loses the ability to resume it, or the only copy of stdin.
 *
 * @param isSpooled true if a spool file has a copy of stdin
 */
const losesData = (entry: JournalEntry | CorruptEntry, { state }: PendingUpload, isSpooled: boolean) =>
  ['not begun', 'creation unknown', 'resumable', 'expired'].includes(state) ||
  (isSpooled && !('verified' in entry && entry.verified === true));

function forget(command: Command, run: ActionWrapper): void {
  addExamples(
    command,
    'mediactl uploads forget 3f2a9c1d5e6b7a80',
    'mediactl uploads forget --expired --yes',
    'mediactl uploads forget --all --yes',
    'mediactl uploads forget --done --queue redis://queue.lan --yes',
  );
  command
    .summary('forget uploads without finishing them')
    .description(
      'Forgets uploads of this machine, or takes them out of a queue. Their assets stay as they are on the service; they are named.',
    )
    .argument('[session]', 'id of the upload, or uid of its session or asset')
    .option('--expired', 'every upload whose session has expired, by the clock of this machine')
    .option('--all', 'every upload')
    .option(queueFlag, queueFlagHelp)
    .option('--done', 'with --queue, those that are done: their files may be queued again')
    .action(
      run(async (context, given, { expired, all, queue, done }) => {
        if (queue !== undefined) {
          const typed = given ? [given] : [];
          return runForget(context, parseForgetRequest(context, queue, typed, { all, expired, done }));
        }
        if (done) throw usageError('--done is of --queue');
        const which = 'give its id from mediactl uploads ls, or --expired, or --all';
        if ([given, expired, all].filter(Boolean).length > 1) throw usageError('which upload?', which);
        const id = expired || all ? undefined : await chooseUploadId(context, given, which);
        const { clock, settings, terminal } = context;
        const journal = await context.journal();
        const entries = id ? [await findUpload(context, id)] : await listPendingUploads(context);
        const selected = entries
          .map((entry) => ({ entry, shown: toPendingUpload(entry, clock.now()) }))
          .filter(({ shown }) => id !== undefined || all || shown.state === 'expired');
        const names = selected.map(({ shown }) => shown.path).join(', ');
        if (context.isDryRun(`forget ${names || 'nothing'}`)) return noResult;
        const spool = new Spool(context.stateDir);
        const spooled = new Set((await spool.list()).map(({ name }) => name));
        const resumable = selected.filter(({ entry, shown }) => losesData(entry, shown, spooled.has(entry.id)));
        if (resumable.length > 0)
          await confirm(
            terminal,
            resumable.length === 1
              ? `${resumable[0]?.shown.path} could still be finished. Forget it?`
              : `${resumable.length} uploads could still be finished. Forget them?`,
            { yes: settings.yes, instead: 'the same command with --yes' },
          );
        const forgotten: PendingUpload[] = [];
        const failures: MediactlError[] = [];
        for (const { entry, shown } of selected)
          await withUploadLock(journal, entry.id, async () => {
            if (shown.asset_uid && shown.base_url && shown.state !== 'uploaded')
              await (await context.receipts()).saveOrphan(shown.base_url, toOrphan(shown));
            await journal.remove(entry.id);
            await spool.forget(entry.id);
            forgotten.push(shown);
            if (shown.asset_uid) terminal.info(`forgotten; asset ${shown.asset_uid} stays as it is`);
          }).catch((error) => failures.push(asMediactlError(error).withSubject(shown.path)));
        const result = listBy(({ id: each }) => each, forgotten, pendingColumns, 'nothing to forget');
        const problem = `${failures.length} of ${selected.length} uploads are not forgotten`;
        return { result, failure: combineFailures(selected.length, problem, failures) };
      }),
    );
}

/** Creates the orphan entry for the asset of a forgotten upload, so that `uploads gc` finds it. */
const toOrphan = ({ asset_uid, path, begun_at }: PendingUpload): Orphan => ({
  ...{ assetUid: asset_uid ?? '', path, name: path.split('/').at(-1) ?? path },
  at: begun_at ?? new Date(0).toISOString(),
  isGuessed: false,
});

/**
 * Runs `work` while holding the upload's lock, because another process that is uploading the file would write the
 * journal entry again.
 */
async function withUploadLock(journal: UploadJournal, id: string, work: () => Promise<void>): Promise<void> {
  const release = await journal.lock(id).catch((error) => {
    throw error instanceof MediactlError
      ? error.with({ hint: 'wait for it to finish, or stop it, then forget it' })
      : error;
  });
  try {
    await work();
  } finally {
    await release();
  }
}
