import { grouped } from '../../../contract/figures.ts';
import type { Budget } from '../protocol.ts';
import type { Shelf } from './shelf.ts';

type Props = {
  shelf: Shelf;
  budget: Budget | undefined;
  waiting: { why: string; until: number } | undefined;
  isResting: boolean;
  said: string;
};

/** Status bar: number of assets, remaining requests, errors and the latest message. */
export function Foot({ shelf, budget, waiting, isResting, said }: Props) {
  const { length, isCounted, problem } = shelf;
  const time = (at: number) => new Date(at).toTimeString().slice(0, 5);
  return (
    <footer>
      <span role="status">
        {length === undefined
          ? !problem && 'Loading'
          : isCounted
            ? `${grouped(length)} asset${length === 1 ? '' : 's'}`
            : 'the service does not tell how many'}
      </span>
      {budget && (
        <span>
          {Date.now() < budget.resetAt
            ? `${grouped(Math.max(0, budget.left))} of ${grouped(budget.limit)} requests left, all again at ${time(budget.resetAt)}`
            : `${grouped(budget.limit)} requests left`}
        </span>
      )}
      {isResting && <span>not looking for news, to keep requests for you</span>}
      {waiting && (
        <span class="waiting">
          {waiting.why}: waiting until {time(waiting.until)}
        </span>
      )}
      {problem && length !== undefined && (
        <span role="alert" class="problem">
          {problem.message}
          {problem.hint ? `; ${problem.hint}` : ''}{' '}
          <button type="button" onClick={() => shelf.retry()}>
            Try again
          </button>
        </span>
      )}
      <span role="status">{said}</span>
    </footer>
  );
}
