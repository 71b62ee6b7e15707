import {
  asMediactlError,
  endsTheRun,
  type MediactlError,
  notAttempted,
  partialFailure,
} from '../../../client/errors.ts';
import { asText } from '../../../contract/json-values.ts';
import { displayText, escapeControls } from '../../../contract/sanitize.ts';
import type { Context } from '../../context.ts';
import { type Column, listBy } from '../../output/result.ts';
import type { OutputRecord } from '../../reference/schemas.ts';
import type { BulkTarget } from './targets.ts';

type WriteOutcome = { uid: string; name: string | null; error: MediactlError | undefined };

/**
 * Runs `work` for each target, at most `lanes` at a time, and returns one outcome per target. After an error that
 * would fail every target, such as a rejected key or Ctrl-C, skips the remaining targets.
 */
export async function runConcurrently(
  { signal }: Context,
  targets: readonly BulkTarget[],
  work: (target: BulkTarget) => Promise<{ name?: unknown }>,
  lanes = 4,
): Promise<WriteOutcome[]> {
  const outcomes: WriteOutcome[] = [];
  let fatalError: MediactlError | undefined;
  let next = 0;
  const worker = async () => {
    for (let at = next++; at < targets.length; at = next++) {
      const target = targets[at] as BulkTarget;
      const { uid, name } = target;
      if (signal.aborted) fatalError ??= asMediactlError(signal.reason);
      try {
        if (fatalError) throw notAttempted(fatalError);
        outcomes[at] = { uid, name: asText((await work(target)).name) ?? name, error: undefined };
      } catch (thrown) {
        const error = asMediactlError(thrown);
        outcomes[at] = { uid, name, error };
        if (endsTheRun(error)) fatalError ??= error;
      }
    }
  };
  await Promise.all(Array.from({ length: lanes }, worker));
  return outcomes;
}

/** Returns a result with one row per target, and an error that lists the failed targets, if any. */
export function bulkResult(context: Context, outcomes: readonly WriteOutcome[], done: string, noun: string) {
  const records = outcomes.map(({ uid, name, error }) => {
    return { uid, name, done: error === undefined, error: error?.toJSON() ?? null };
  });
  const columns: Column<OutputRecord<'written'>>[] = [
    { header: 'UID', value: ({ uid }) => escapeControls(uid), uid: 'asset' },
    { header: 'NAME', value: ({ name }) => displayText(name), isFirst: true },
    { header: 'RESULT', value: ({ error }) => (error ? `failed: ${displayText(error.message)}` : done) },
  ];
  const result = listBy(({ uid, done: isDone }) => (isDone ? uid : ''), records, columns, `no ${noun}`);
  return { result, failure: failureOf(context, outcomes, noun) };
}

export function failureOf({ signal }: Context, outcomes: readonly WriteOutcome[], noun: string) {
  const failures = outcomes.flatMap(({ uid, error }) => (error ? [error.withSubject(uid)] : []));
  if (failures.length === 0) return undefined;
  if (signal.aborted) return asMediactlError(signal.reason);
  if (outcomes.length === 1) return outcomes[0]?.error;
  return partialFailure(`${failures.length} of ${outcomes.length} ${noun} failed`, failures);
}
