import { formatCount, pluralize } from '../../shared/figures.ts';
import { displayText } from '../../shared/sanitize.ts';
import type { CommandOutcome } from '../command.ts';
import type { Context } from '../context.ts';
import { noResult } from './result.ts';

/** Result of a change of one asset, folder or other item. */
type ItemOutcome = { uid: string; name: string | null; error?: unknown };

/**
 * Tells a user on a terminal in one line what a command has changed, as `moved clip.mp4 to /Archive; to undo: mediactl
 * undo 58272ee7`. The only place that writes such a line. Does nothing in a pipe, or if nothing was changed.
 *
 * @param done what was changed, such as `moved clip.mp4 to /Archive`, without control characters; '' for nothing
 * @param next what to know or to type next, by default the command that undoes the last change of the history
 */
export function announce(context: Context, done: string, next = undoOf(context)): void {
  if (done === '' || !context.isHumanOutput) return;
  context.terminal.info(next === undefined ? done : `${done}; ${next}`);
}

const undoOf = ({ changesMade: { lastUndoable } }: Context) => lastUndoable && `to undo: mediactl undo ${lastUndoable}`;

/**
 * Names what was changed: the only item by its name, several by their number, such as `17 assets` or `3 of 17 assets`.
 *
 * @param outcomes of all items, also of those that failed
 * @param noun what an item is, such as `asset`
 */
export function phrase(outcomes: readonly ItemOutcome[], noun: string): string {
  const done = outcomes.filter(({ error }) => !error);
  const [only] = outcomes;
  if (outcomes.length === 1 && only) return displayText(only.name) || `${noun} ${displayText(only.uid)}`;
  const all = pluralize(outcomes.length, noun);
  return done.length === outcomes.length ? all : `${formatCount(done.length)} of ${all}`;
}

/** Returns a result without its records if the user was told the outcome in a line; dry runs keep them. */
export const withoutRecords = <T extends Exclude<CommandOutcome, { kind: unknown }>>(context: Context, outcome: T) =>
  context.canUseSentences ? { ...outcome, result: noResult } : outcome;

/** Tells the outcome of a change in a line, and returns its records for a pipe. @param place such as `to /Archive` */
export function changeResult<T extends Exclude<CommandOutcome, { kind: unknown }>>(
  context: Context,
  outcomes: readonly ItemOutcome[],
  { verb, noun, place = '', next }: { verb: string; noun: string; place?: string; next?: string },
  records: T,
) {
  const isDone = outcomes.some(({ error }) => !error);
  announce(context, isDone ? [verb, phrase(outcomes, noun), place].filter(Boolean).join(' ') : '', next);
  return withoutRecords(context, records);
}
