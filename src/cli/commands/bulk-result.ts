import type { StoredItem } from '../../client/changes/change-item.ts';
import type { Written } from '../../client/changes/read-back.ts';
import { asCodedError, type CodedError, partialFailure } from '../../client/errors.ts';
import type { ItemResult } from '../../client/run-each.ts';
import { formatCount } from '../../shared/figures.ts';
import { asText } from '../../shared/json-values.ts';
import { displayText, escapeControls } from '../../shared/sanitize.ts';
import type { Context } from '../context.ts';
import { type Column, listBy } from '../output/result.ts';
import type { OutputRecord } from '../reference/schemas.ts';

export type WriteOutcome = {
  uid: string;
  name: string | null;
  error: CodedError | undefined;
  /** True if the library has shown that a deleted asset is gone. */
  isReadBack?: boolean | undefined;
};

/** Returns the outcomes of a run, with the names after the change. */
export const toOutcomes = (results: readonly ItemResult<StoredItem, Written>[]): WriteOutcome[] =>
  results.map(({ item: { uid, name }, value, error }) => ({
    ...{ uid, name: asText(value?.asset?.name) ?? name, error },
    isReadBack: value?.isReadBack,
  }));

/** Returns how many of the assets that were moved to the trash were read back, unless all were: `, 20 of them read back`. */
export function readBackText(moved: readonly { isReadBack?: boolean | undefined }[]): string {
  const count = moved.filter(({ isReadBack }) => isReadBack).length;
  if (count === moved.length) return '';
  return count === 0 ? ', not read back' : `, ${formatCount(count)} of them read back`;
}

type ChangeRecord = OutputRecord<'changes'>;

/**
 * Returns a result with one row per target, and an error that lists the failed targets, if any.
 *
 * @param label text for the outcome of a target that did not fail
 */
export function bulkResult(
  context: Context,
  outcomes: readonly WriteOutcome[],
  { outcome, label, noun }: { outcome: ChangeRecord['outcome']; label: string; noun: string },
) {
  const records = outcomes.map(({ uid, name, error }): ChangeRecord => {
    const record = context.terminal.redactor.errorRecord(error);
    const failure = error?.explanation.code === 'changed_meanwhile' ? 'conflict' : 'failed';
    return { uid, name, outcome: error ? failure : outcome, error: record };
  });
  const columns: Column<ChangeRecord>[] = [
    { field: 'uid', uid: 'asset' },
    { field: 'name', isFirst: true },
    { field: 'outcome', value: (each) => (each.error ? `${each.outcome}: ${displayText(each.error.message)}` : label) },
  ];
  const result = listBy(({ uid, error }) => (error ? '' : uid), records, columns, `no ${noun}`);
  return { result, failure: failureOf(context, outcomes, noun) };
}

export function failureOf({ signal }: Context, outcomes: readonly WriteOutcome[], noun: string) {
  const failures = outcomes.flatMap(({ uid, name, error }) => {
    // A message that has the uid needs the name before it.
    const subject = error?.message.includes(uid) && name ? escapeControls(name) : uid;
    return error ? [error.withSubject(subject)] : [];
  });
  if (failures.length === 0) return undefined;
  if (signal.aborted) return asCodedError(signal.reason);
  if (outcomes.length === 1) return outcomes[0]?.error;
  return partialFailure(`${failures.length} of ${outcomes.length} ${noun} failed`, failures);
}
