import type { Written } from '../../client/changes/carry-out.ts';
import type { StoredItem } from '../../client/changes/change-item.ts';
import { CodedError } from '../../client/errors.ts';
import type { ItemResult } from '../../client/run-each.ts';
import { formatCount, pluralize } from '../../contract/figures.ts';
import { OutputFailed } from '../terminal/terminal.ts';

/** A kind of change: what was changed, and how, as in "9 assets were changed". */
type ChangeKind = {
  noun: 'asset' | 'folder' | 'file' | 'domain' | 'setting';
  verb: 'changed' | 'moved to the trash' | 'deleted' | 'created' | 'uploaded' | 'queued' | 'added' | 'removed';
};

/** Counts what a command has changed, for the error if its result cannot be written. */
export class ChangesMade {
  readonly #counts = new Map<string, ChangeKind & { done: number; total: number }>();

  /** Counts things of which `done` of `total` were changed. */
  add(noun: ChangeKind['noun'], verb: ChangeKind['verb'], done: number, total = done): void {
    const counted = this.#counts.get(`${noun} ${verb}`) ?? { noun, verb, done: 0, total: 0 };
    counted.done += done;
    counted.total += total;
    this.#counts.set(`${noun} ${verb}`, counted);
  }

  /** Counts the results of a change of the library. */
  addResults(results: readonly ItemResult<StoredItem, Written>[]): void {
    for (const { item, error } of results) {
      const deleted = item.kind === 'asset' ? 'moved to the trash' : 'deleted';
      this.add(item.kind, item.after === null ? deleted : 'changed', error ? 0 : 1, 1);
    }
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
