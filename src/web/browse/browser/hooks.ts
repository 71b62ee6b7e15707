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
export function useCopy(): {
  outcome: string | undefined;
  copy(text: string): void;
  show(outcome: string): void;
} {
  const [outcome, setOutcome] = useState<string>();
  useDelay(outcome === undefined ? undefined : copiedMs, () => setOutcome(undefined), [outcome]);
  const copy = (text: string) =>
    void navigator.clipboard.writeText(text).then(
      () => setOutcome('Copied'),
      (error: Error) => setOutcome(`Not copied: ${error.message}`),
    );
  return { outcome, copy, show: setOutcome };
}

/**
 * Gives the focus a place after the focused element was taken away: the heading of the dialog, else the current card. The
 * focus of the keyboard would be at the start of the page otherwise, where no key of the list works.
 */
export function useKeptFocus(): void {
  useEffect(() => {
    let last: Element | null = null;
    const remember = ({ target }: FocusEvent) => {
      last = target as Element;
    };
    const observer = new MutationObserver(() => {
      if (!last || last.isConnected || document.activeElement !== document.body) return;
      last = null;
      const heading = document.querySelector<HTMLElement>('dialog[open] h2');
      (heading ?? document.querySelector<HTMLElement>('.thing[tabindex="0"]'))?.focus({ preventScroll: true });
    });
    observer.observe(document.body, { childList: true, subtree: true });
    addEventListener('focusin', remember);
    return () => {
      observer.disconnect();
      removeEventListener('focusin', remember);
    };
  }, []);
}

export async function whenVisible(): Promise<void> {
  while (document.visibilityState !== 'visible')
    await new Promise((resolve) => document.addEventListener('visibilitychange', resolve, { once: true }));
}
