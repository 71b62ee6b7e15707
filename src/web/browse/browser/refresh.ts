import { useEffect, useRef, useState } from 'preact/hooks';
import type { RequestBudget } from '../protocol.ts';
import type { PagedList } from './paged-list.ts';

const minPollMs = 1_500;
const maxPollMs = 20_000;
/** Minimum remaining share of the rate limit for polling, which keeps the rest for the user's requests. */
const minBudgetShare = 0.2;

/**
 * Polls the visible pages with backoff as long as changes are expected. Pauses in hidden tabs.
 * @param onPolled called after each poll, and by `refreshNow`
 * @returns `isPaused`, which is true if a low rate limit pauses polling, and a function that refreshes immediately
 */
export function useRefresh(
  list: PagedList,
  budget: RequestBudget | undefined,
  onPolled: () => void,
): { isPaused: boolean; refreshNow(): void } {
  const [now, setNow] = useState(Date.now);
  const isSpent = budget !== undefined && budget.left < budget.limit * minBudgetShare;
  const isResting = isSpent && now < budget.resetAt;
  useEffect(() => {
    setNow(Date.now());
    if (!isSpent) return;
    const timer = setTimeout(() => setNow(Date.now()), Math.max(0, budget.resetAt - Date.now()) + 100);
    return () => clearTimeout(timer);
  }, [isSpent, budget?.resetAt]);
  const polls = useRef({ pauseMs: minPollMs, at: 0 });
  const [round, setRound] = useState(0);
  const refreshNow = () => {
    onPolled();
    polls.current.pauseMs = minPollMs;
    // The service's list might lag behind, so a later poll has to find the change.
    void list.refresh(false).then(() => list.markStale());
    setRound((count) => count + 1);
  };
  const { expectsChanges } = list;
  useEffect(() => {
    if (!expectsChanges || isResting) return;
    const { current } = polls;
    if (performance.now() - current.at > 2 * maxPollMs) current.pauseMs = minPollMs;
    let timer: ReturnType<typeof setTimeout>;
    let isCancelled = false;
    const poll = async () => {
      if (document.visibilityState === 'visible') {
        await list.refresh(true);
        onPolled();
      }
      current.pauseMs = Math.min(maxPollMs, current.pauseMs * 1.4);
      current.at = performance.now();
      if (isCancelled) return;
      timer = setTimeout(poll, current.pauseMs);
    };
    timer = setTimeout(poll, current.pauseMs);
    return () => {
      isCancelled = true;
      clearTimeout(timer);
    };
  }, [list, expectsChanges, isResting, round]);
  return { isPaused: expectsChanges && isResting, refreshNow };
}

const minRetryMs = 5_000;

/** Retries failed pages with exponential backoff. */
export function useRetry(list: PagedList): void {
  const attempts = useRef(0);
  const { problem } = list;
  useEffect(() => {
    if (!problem) {
      attempts.current = 0;
      return;
    }
    const timer = setTimeout(
      () => {
        attempts.current++;
        if (document.visibilityState === 'visible') list.retry();
      },
      Math.min(60_000, minRetryMs * 2 ** attempts.current),
    );
    return () => clearTimeout(timer);
  }, [list, problem]);
}
