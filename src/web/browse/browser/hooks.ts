import { useEffect, useRef, useState } from 'preact/hooks';

/** Handles an event of the window with the callback of the latest render. */
export function useWindowEvent<Type extends keyof WindowEventMap>(
  type: Type,
  handle: (event: WindowEventMap[Type]) => void,
): void {
  const latest = useRef(handle);
  latest.current = handle;
  useEffect(() => {
    const listen = (event: WindowEventMap[Type]) => latest.current(event);
    addEventListener(type, listen);
    return () => removeEventListener(type, listen);
  }, []);
}

export function useRedraw(): () => void {
  const [, setCount] = useState(0);
  return () => setCount((count) => count + 1);
}

/** Calls `then` after a delay, which starts again when `inputs` change. Without a delay, does nothing. */
export function useDelay(delayMs: number | undefined, then: () => void, inputs: readonly unknown[]): void {
  useEffect(() => {
    if (delayMs === undefined) return;
    const timer = setTimeout(then, delayMs);
    return () => clearTimeout(timer);
  }, inputs);
}

/** How long a button says that its text was copied. */
const copiedMs = 2_000;

/** Returns a function that copies a text, and for a moment its outcome: `Copied`, or why the text was not copied. */
export function useCopy(): { outcome: string | undefined; copy(text: string): void } {
  const [outcome, setOutcome] = useState<string>();
  useDelay(outcome === undefined ? undefined : copiedMs, () => setOutcome(undefined), [outcome]);
  const copy = (text: string) =>
    void navigator.clipboard.writeText(text).then(
      () => setOutcome('Copied'),
      (error: Error) => setOutcome(`Not copied: ${error.message}`),
    );
  return { outcome, copy };
}

export async function whenVisible(): Promise<void> {
  while (document.visibilityState !== 'visible')
    await new Promise((resolve) => document.addEventListener('visibilitychange', resolve, { once: true }));
}
