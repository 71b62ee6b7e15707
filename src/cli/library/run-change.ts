import type { ChangeHooks } from '../../client/changes/carry-out.ts';
import type { ChangeOutcome, LibraryChange, LibraryWriter } from '../../client/changes/writer.ts';
import { endsTheRun } from '../../client/errors.ts';
import { formatCount } from '../../shared/figures.ts';
import type { Context } from '../context.ts';

/** Carries out a change, and adds a note on how to continue it. @returns one result per item */
export const runChange = async (
  context: Context,
  change: LibraryChange,
  hooks?: ChangeHooks,
): Promise<ChangeOutcome['results']> => withNotes(context, await (await context.writer()).change(change, hooks));

/** Continues a change of the history, with the same arguments as `LibraryWriter.resume`. @returns one result per item */
export const resumeChange = async (
  context: Context,
  ...resumed: Parameters<LibraryWriter['resume']>
): Promise<ChangeOutcome['results']> => withNotes(context, await (await context.writer()).resume(...resumed));

function withNotes(context: Context, { change, isRecorded, results }: ChangeOutcome): ChangeOutcome['results'] {
  if (!isRecorded || results.length < 2) return results;
  const count = results.filter(({ error }) => !error).length;
  const next = change.source ? 'run the same command again' : `mediactl history ${change.id} --resume`;
  if (results.some(({ error }) => error && endsTheRun(error)))
    context.closingNotes.push(
      `stopped after ${formatCount(count)} of ${formatCount(results.length)}; to continue: ${next}`,
    );
  return results;
}
