import { formatCount } from '../../../contract/figures.ts';
import type { RequestBudget } from '../protocol.ts';
import type { PagedList } from './paged-list.ts';

type StatusBarProps = {
  list: PagedList;
  budget: RequestBudget | undefined;
  serviceWait: { why: string; until: number } | undefined;
  isPaused: boolean;
  notice: string;
};

/** Renders the status bar with the number of assets, remaining requests, errors and the latest message. */
export function StatusBar({ list, budget, serviceWait, isPaused, notice }: StatusBarProps) {
  const { length, hasExactLength, problem } = list;
  const time = (at: number) => new Date(at).toTimeString().slice(0, 5);
  return (
    <footer>
      <span role="status">
        {length === undefined
          ? !problem && 'Loading'
          : hasExactLength
            ? `${formatCount(length)} asset${length === 1 ? '' : 's'}`
            : 'the service does not tell how many'}
      </span>
      {budget && (
        <span>
          {Date.now() < budget.resetAt
            ? `${formatCount(Math.max(0, budget.left))} of ${formatCount(budget.limit)} requests left, all again at ${time(budget.resetAt)}`
            : `${formatCount(budget.limit)} requests left`}
        </span>
      )}
      {isPaused && <span>not looking for news, to keep requests for you</span>}
      {serviceWait && (
        <span class="waiting">
          {serviceWait.why}: waiting until {time(serviceWait.until)}
        </span>
      )}
      {problem && length !== undefined && (
        <span role="alert" class="problem">
          {problem.message}
          {problem.hint ? `; ${problem.hint}` : ''}{' '}
          <button type="button" onClick={() => list.retry()}>
            Try again
          </button>
        </span>
      )}
      <span role="status">{notice}</span>
    </footer>
  );
}
