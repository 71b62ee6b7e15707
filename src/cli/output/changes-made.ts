import type { ChangeOutcome } from '../../client/changes/writer.ts';
import { CodedError, endsTheRun, OutputFailed } from '../../client/errors.ts';
import { formatCount, pluralize } from '../../shared/figures.ts';

/** A kind of change: what was changed, and how, as in "9 assets were changed". */
type ChangeKind = {
  noun: 'asset' | 'folder' | 'file' | 'domain' | 'setting';
  verb: 'changed' | 'moved to the trash' | 'deleted' | 'created' | 'uploaded' | 'queued' | 'added' | 'removed';
};

/** Counts what a command has changed, for the error if its result cannot be written. */
export class ChangesMade {
  /** Id of the last change of the history that undo can take back. */
  lastUndoable: string | undefined;
  readonly #counts = new Map<string, ChangeKind & { done: number; total: number }>();

  /** Counts things of which `done` of `total` were changed. */
  add(noun: ChangeKind['noun'], verb: ChangeKind['verb'], done: number, total = done): void {
    const counted = this.#counts.get(`${noun} ${verb}`) ?? { noun, verb, done: 0, total: 0 };
    counted.done += done;
    counted.total += total;
    this.#counts.set(`${noun} ${verb}`, counted);
  }

  addChange({ change, isRecorded, results }: ChangeOutcome): void {
    for (const { item, error } of results) {
      const deleted = item.kind === 'asset' ? 'moved to the trash' : 'deleted';
      this.add(item.kind, item.after === null ? deleted : 'changed', error ? 0 : 1, 1);
    }
    const isStopped = results.some(({ error }) => error && endsTheRun(error));
    const isUndoable = isRecorded && !isStopped && results.some(({ item, error }) => !error && item.after !== null);
    if (isUndoable) this.lastUndoable = change.id;
  }

  count(noun: ChangeKind['noun'], verb: ChangeKind['verb']): number {
    return this.#counts.get(`${noun} ${verb}`)?.done ?? 0;
  }

  /** Returns the error that says first what was changed, if the result cannot be written; any other error unchanged. */
  explain(error: unknown): unknown {
    const made = [...this.#counts.values()].filter(({ done }) => done > 0);
    if (!(error instanceof OutputFailed) || made.length === 0) return error;
    const parts = made.map(({ noun, verb, done, total }) => {
      const part = done === total ? '' : `${formatCount(done)} of `;
      return `${part}${pluralize(total, noun)} ${total === 1 ? 'was' : 'were'} ${verb}`;
    });
    const { message, explanation } = error;
    return new CodedError(`${parts.join(' and ')}, but the result cannot be written`, {
      ...explanation,
      reason: [message, explanation.reason].filter(Boolean).join(': '),
    });
  }
}
