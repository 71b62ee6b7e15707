/** Time of a call for its work, so that its answer is ready within 45 s: clients give up after 60 s. */
const workMs = 40_000;

/** What a call gets from the protocol. */
export type Call = {
  signal: AbortSignal;
  /** Reports progress, if the client asked for it. */
  progress(done: number, total: number | undefined, message: string): void;
};

/** Returns a signal that aborts with the call, or when its time for work is over. */
export const deadline = ({ signal }: Call): AbortSignal => AbortSignal.any([signal, AbortSignal.timeout(workMs)]);

/** Waits until `isDone` returns true after a change, the call is canceled, or its time is over. */
export async function waitUntil(
  isDone: () => boolean,
  { signal, onChange, forMs }: { signal: AbortSignal; onChange: (listener: () => void) => () => void; forMs: number },
): Promise<void> {
  if (isDone() || forMs <= 0) return;
  await new Promise<void>((resolve) => {
    const end = () => {
      clearTimeout(timer);
      stopListening();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, forMs);
    const stopListening = onChange(() => isDone() && end());
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
  });
}

/** Paces what is told of many changes. The last change is told too, though it comes right after another one. */
export function paced(tell: () => void, intervalMs: number): { request(): void; stop(): void } {
  let toldAt = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  const tellNow = () => {
    timer = undefined;
    toldAt = performance.now();
    tell();
  };
  return {
    request: () => {
      if (timer) return;
      const leftMs = toldAt + intervalMs - performance.now();
      if (leftMs <= 0) tellNow();
      else timer = setTimeout(tellNow, leftMs);
    },
    stop: () => clearTimeout(timer),
  };
}
