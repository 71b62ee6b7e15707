import { useEffect, useRef, useState } from 'preact/hooks';
import { systemClock } from '../../../shared/clock.ts';
import { backoff, pollUntil } from '../../../shared/retry.ts';
import type { RequestBudget } from '../protocol.ts';
import { useDelay, useRedraw, whenVisible } from './hooks.ts';
import type { PagedList } from './paged-list.ts';

const pollDelays = { minMs: 2_000, maxMs: 20_000 };
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
  const isSpent = useIsSpent(budget);
  const [round, setRound] = useState(0);
  /** Number of polls, and the time of the last one. The count restarts after a pause. */
  const { current: polls } = useRef({ count: 0, at: 0 });
  const { expectsChanges } = list;
  useEffect(() => {
    if (!expectsChanges || isSpent) return;
    if (performance.now() - polls.at > 2 * pollDelays.maxMs) polls.count = 0;
    const stop = new AbortController();
    const intervalMs = () => backoff(polls.count, pollDelays);
    const poll = async () => {
      await whenVisible();
      stop.signal.throwIfAborted();
      await list.refresh(true);
      onPolled();
      polls.count++;
      polls.at = performance.now();
    };
    const first = systemClock.sleep(intervalMs(), stop.signal);
    first.then(() => pollUntil(stop.signal, poll, { intervalMs })).catch(() => {}); // ends by the signal
    return () => stop.abort();
  }, [list, expectsChanges, isSpent, round]);
  const refreshNow = () => {
    onPolled();
    polls.count = 0;
    // The service's list might lag behind, so a later poll has to find the change.
    void list.refresh(false).then(() => list.markStale());
    setRound((count) => count + 1);
  };
  return { isPaused: expectsChanges && isSpent, refreshNow };
}

/** Returns true if most of the rate limit is spent, until it resets. */
function useIsSpent(budget: RequestBudget | undefined): boolean {
  const redraw = useRedraw();
  const resetAt = budget && budget.left < budget.limit * minBudgetShare ? budget.resetAt : 0;
  const leftMs = resetAt - Date.now();
  useDelay(leftMs > 0 ? leftMs + 100 : undefined, redraw, [resetAt]);
  return leftMs > 0;
}
