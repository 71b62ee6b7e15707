import { useEffect, useRef, useState } from 'preact/hooks';
import type { Budget } from '../protocol.ts';
import type { Shelf } from './shelf.ts';

const firstMs = 1_500;
const longestMs = 20_000;
/** The page looks by itself only while so much of a window is left: the rest is for people. */
const leastShare = 0.2;

/**
 * Looks again at what is in view while there is news to come, less and less often; not in a tab that
 * nobody sees.
 *
 * @param onLooked called after each look
 * @returns whether it rests, to keep requests; and how to look at once
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
    // The service may list it a moment later: the next refresh finds it.
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

/** What could not be asked for is asked for again after a while, less and less often. */
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
