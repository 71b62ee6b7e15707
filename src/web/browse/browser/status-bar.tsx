import { formatCount, formatTimeOfDay } from '../../../contract/figures.ts';
import type { RequestBudget } from '../protocol.ts';
import { Button } from './controls.tsx';
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
  const { length, problem } = list;
  return (
    <footer>
      <span role="status">{lengthText(list)}</span>
      {budget && <span>{budgetText(budget)}</span>}
      {isPaused && <span>not looking for news, to keep requests for you</span>}
      {serviceWait && (
        <span class="waiting">{`${serviceWait.why}: waiting until ${formatTimeOfDay(serviceWait.until)}`}</span>
      )}
      {problem && length !== undefined && (
        <span role="alert" class="problem">
          {[problem.message, problem.hint].filter(Boolean).join('; ')}{' '}
          <Button text="Try again" onClick={() => list.retry()} />
        </span>
      )}
      <span role="status">{notice}</span>
    </footer>
  );
}

function lengthText({ length, hasExactLength, problem }: PagedList): string {
  if (length === undefined) return problem ? '' : 'Loading';
  return hasExactLength
    ? `${formatCount(length)} asset${length === 1 ? '' : 's'}`
    : 'the service does not tell how many';
}

function budgetText({ limit, left, resetAt }: RequestBudget): string {
  if (Date.now() >= resetAt) return `${formatCount(limit)} requests left`;
  const [some, all] = [formatCount(Math.max(0, left)), formatCount(limit)];
  return `${some} of ${all} requests left, all again at ${formatTimeOfDay(resetAt)}`;
}
