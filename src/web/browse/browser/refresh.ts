import { useEffect, useRef, useState } from 'preact/hooks';
import type { Budget } from '../protocol.ts';
import type { Shelf } from './shelf.ts';

const firstMs = 1_500;
const longestMs = 20_000;
/** Minimum remaining share of the rate limit for polling; the rest is for the user's requests. */
const leastShare = 0.2;

/**
 * Polls the visible pages with backoff while changes are expected. Skips hidden tabs.
 *
 * @param onPolled called after each poll
 * @returns `isPaused` while the rate limit is low, and a function that refreshes at once
 */
export function useRefresh(
  shelf: Shelf,
  budget: Budget | undefined,
  onLooked: () => void,
): { isResting: boolean; lookNow(): void } {
  const [now, setNow] = useState(Date.now);
  const isSpent = budget !== undefined && budget.left < budget.limit * leastShare;
  const isResting = isSpent && now < budget.resetAt;
  useEffect(() => {
    setNow(Date.now());
    if (!isSpent) return;
    const timer = setTimeout(
      () => setNow(Date.now()),
      Math.max(0, budget.resetAt - Date.now()) + 100,
    );
    return () => clearTimeout(timer);
  }, [isSpent, budget?.resetAt]);
  const looks = useRef({ pauseMs: firstMs, at: 0 });
  const [round, setRound] = useState(0);
  const lookNow = () => {
    onLooked();
    looks.current.pauseMs = firstMs;
    // The list may lag behind: the next poll finds the change.
    void shelf.refresh(false).then(() => shelf.expectNews());
    setRound((count) => count + 1);
  };
  const { expectsNews } = shelf;
  useEffect(() => {
    if (!expectsNews || isResting) return;
    const { current } = looks;
    if (performance.now() - current.at > 2 * longestMs) current.pauseMs = firstMs;
    let timer: ReturnType<typeof setTimeout>;
    let isOver = false;
    const look = async () => {
      if (document.visibilityState === 'visible') {
        await shelf.refresh(true);
        onLooked();
      }
      current.pauseMs = Math.min(longestMs, current.pauseMs * 1.4);
      current.at = performance.now();
      if (isOver) return;
      timer = setTimeout(look, current.pauseMs);
    };
    timer = setTimeout(look, current.pauseMs);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [shelf, expectsNews, isResting, round]);
  return { isResting: expectsNews && isResting, lookNow };
}

const retryMs = 5_000;

/** Retries failed pages with exponential backoff. */
export function useRetry(shelf: Shelf): void {
  const tries = useRef(0);
  const { problem } = shelf;
  useEffect(() => {
    if (!problem) {
      tries.current = 0;
      return;
    }
    const timer = setTimeout(
      () => {
        tries.current++;
        if (document.visibilityState === 'visible') shelf.retry();
      },
      Math.min(60_000, retryMs * 2 ** tries.current),
    );
    return () => clearTimeout(timer);
  }, [shelf, problem]);
}
