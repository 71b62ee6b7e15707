import type { Command } from '@commander-js/extra-typings';
import {
  asMediactlError,
  combineFailures,
  MediactlError,
  usageError,
} from '../../../client/errors.ts';
import { Spool } from '../../../client/upload/sources/spool.ts';
import type { UploadJournal } from '../../../client/upload/store/journal.ts';
import type { CorruptEntry, JournalEntry } from '../../../client/upload/store/journal-entry.ts';
import type { Orphan } from '../../../client/upload/store/receipts.ts';
import { listBy, noResult } from '../../output/result.ts';
import { confirm } from '../../terminal/prompt.ts';
import {
  findUpload,
  keptUploads,
  type PendingUpload,
  pendingColumns,
  pendingUpload,
  unfinished,
  uploadId,
} from '../../uploading/pending.ts';
import { type ActionWrapper, addExamples, type CommandDefinition } from '../command.ts';
import { queueFlag, queueFlagHelp } from '../queue/queue.ts';
import { queuedUploads, watch } from '../queue/queued.ts';
import { forgetQueued, retry } from '../queue/queued-changes.ts';
import { doneUploads, importDone } from './done.ts';
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
        if (queue !== undefined) return queuedUploads(context, queue, done);
        if (done) return doneUploads(context);
        return listBy(
          ({ id }) => id,
          unfinished(await keptUploads(context)).map((entry) =>
            pendingUpload(entry, context.clock.now()),
          ),
          pendingColumns,
          'no uploads under way',
        );
      }),
    );
}

/**
 * Returns whether forgetting an upload loses data: the ability to resume, or the only copy of stdin.
 *
 * @param isSpooled a spool file has a copy of stdin
 */
const isLoss = (entry: JournalEntry | CorruptEntry, { state }: PendingUpload, isSpooled: boolean) =>
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
        if (queue !== undefined)
          return forgetQueued(context, queue, given ? [given] : [], { all, expired, done });
        if (done) throw usageError('--done is of --queue');
        const which = 'give its id from mediactl uploads ls, or --expired, or --all';
        if ([given, expired, all].filter(Boolean).length > 1)
          throw usageError('which upload?', which);
        const id = expired || all ? undefined : await uploadId(context, given, which);
        const { clock, settings, terminal } = context;
        const journal = await context.journal();
        const entries = id ? [await findUpload(context, id)] : await keptUploads(context);
        const leaving = entries
          .map((entry) => ({ entry, shown: pendingUpload(entry, clock.now()) }))
          .filter(({ shown }) => id !== undefined || all || shown.state === 'expired');
        const names = leaving.map(({ shown }) => shown.path).join(', ');
        if (context.isDryRun(`forget ${names || 'nothing'}`)) return noResult;
        const spool = new Spool(context.stateDir);
        const spooled = new Set((await spool.list()).map(({ name }) => name));
        const lost = leaving.filter(({ entry, shown }) =>
          isLoss(entry, shown, spooled.has(entry.id)),
        );
        if (lost.length > 0)
          await confirm(
            terminal,
            lost.length === 1
              ? `${lost[0]?.shown.path} could still be finished. Forget it?`
              : `${lost.length} uploads could still be finished. Forget them?`,
            { yes: settings.yes, instead: 'the same command with --yes' },
          );
        const forgotten: PendingUpload[] = [];
        const failures: MediactlError[] = [];
        for (const { entry, shown } of leaving)
          await whileOurs(journal, entry.id, async () => {
            if (shown.asset_uid && shown.base_url && shown.state !== 'uploaded')
              await (await context.receipts()).saveOrphan(shown.base_url, orphanOf(shown));
            await journal.remove(entry.id);
            await spool.forget(entry.id);
            forgotten.push(shown);
            if (shown.asset_uid)
              terminal.info(`forgotten; asset ${shown.asset_uid} stays as it is`);
          }).catch((error) => failures.push(asMediactlError(error).withSubject(shown.path)));
        const result = listBy(
          ({ id: each }) => each,
          forgotten,
          pendingColumns,
          'nothing to forget',
        );
        const problem = `${failures.length} of ${leaving.length} uploads are not forgotten`;
        return { result, failure: combineFailures(leaving.length, problem, failures) };
      }),
    );
}

/** Creates the orphan record of an asset that remains on the service, for `uploads gc`. */
const orphanOf = ({ asset_uid, path, begun_at }: PendingUpload): Orphan => ({
  ...{ assetUid: asset_uid ?? '', path, name: path.split('/').at(-1) ?? path },
  at: begun_at ?? new Date(0).toISOString(),
  isGuessed: false,
});

/** Runs `work` while holding the upload's lock: another process that is uploading it would write the entry again. */
async function whileOurs(
  journal: UploadJournal,
  id: string,
  work: () => Promise<void>,
): Promise<void> {
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
