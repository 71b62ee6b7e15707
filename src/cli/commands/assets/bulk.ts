import {
  asMediactlError,
  type ErrorRecord,
  endsTheRun,
  type MediactlError,
  notTried,
  someFailed,
} from '../../../client/errors.ts';
import { textIn } from '../../../contract/reading.ts';
import { cell, printable } from '../../../contract/sanitize.ts';
import type { Context } from '../../context.ts';
import { type Column, listBy } from '../../output/result.ts';
import type { Target } from './targets.ts';

/** How many are under way at once, where nobody says. */
const usualLanes = 4;

type WriteOutcome = { uid: string; name: string | null; error: MediactlError | undefined };

/** Does something with each, a few at once; what fails for one does not stop the others, unless it must. */
export async function inLanes(
  { signal }: Context,
  targets: readonly Target[],
  work: (target: Target) => Promise<{ name?: unknown }>,
  lanes = usualLanes,
): Promise<WriteOutcome[]> {
  const of = ({ uid, name }: Target) => ({ uid, name });
  const outcomes: WriteOutcome[] = [];
  let stop: MediactlError | undefined;
  let next = 0;
  const lane = async () => {
    for (let at = next++; at < targets.length; at = next++) {
      const target = targets[at] as Target;
      if (signal.aborted) stop ??= asMediactlError(signal.reason);
      outcomes[at] = stop
        ? { ...of(target), error: notTried(stop) }
        : await work(target).then(
            ({ name }) => ({ ...of(target), name: textIn(name) ?? target.name, error: undefined }),
            (thrown) => ({ ...of(target), error: asMediactlError(thrown) }),
          );
      const { error } = outcomes[at] as WriteOutcome;
      if (error && endsTheRun(error)) stop ??= error;
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return outcomes;
}

/** What the machine formats print of each. */
type WriteRecord = {
  uid: string;
  name: string | null;
  done: boolean;
  error: ErrorRecord | null;
};

/** The result, a row each, and where some failed the error that names them. */
export function bulkResult(
  context: Context,
  outcomes: readonly WriteOutcome[],
  done: string,
  noun: string,
) {
  const records = outcomes.map(({ uid, name, error }) => ({
    ...{ uid, name, done: error === undefined },
    error: error?.toJSON() ?? null,
  }));
  const columns: Column<WriteRecord>[] = [
    { header: 'UID', value: ({ uid }) => printable(uid), uid: 'asset' },
    { header: 'NAME', value: ({ name }) => cell(name), leads: true },
    { header: 'RESULT', value: ({ error }) => (error ? `failed: ${cell(error.message)}` : done) },
  ];
  const result = listBy(
    ({ uid, done: isDone }) => (isDone ? uid : ''),
    records,
    columns,
    `no ${noun}`,
  );
  return { result, failure: failureOf(context, outcomes, noun) };
}

/** The error that names those that failed; undefined where none did. */
export function failureOf(
  { signal }: Context,
  outcomes: readonly WriteOutcome[],
  noun: string,
): MediactlError | undefined {
  const failures = outcomes.flatMap(({ uid, error }) => (error ? [error.of(uid)] : []));
  if (failures.length === 0) return undefined;
  if (signal.aborted) return asMediactlError(signal.reason);
  if (outcomes.length === 1) return outcomes[0]?.error;
  return someFailed(`${failures.length} of ${outcomes.length} ${noun} failed`, failures);
}
