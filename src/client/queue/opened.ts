import type { Clock } from '../clock.ts';
import { atMost } from './patience.ts';

/* What both stores need to be opened and closed. */

export const connectMs = 10_000;
export const closeMs = 3_000;

/** A part of the engine, and what it keeps open. */
export type Opened = {
  on(event: 'error', hear: (error: unknown) => void): unknown;
  waitUntilReady(): Promise<unknown>;
  /** Its own lines alone, and not what it was given. */
  getBackend(): { close(isForced: boolean): Promise<void> };
  close(): Promise<void>;
  disconnect(): Promise<void>;
};

/** A store that is away does not keep the process. */
export async function ended(opened: ReadonlySet<Opened>, clock: Clock): Promise<void> {
  const closed = Promise.all([...opened].map((each) => each.close().catch(() => {})));
  await atMost(closeMs, clock, closed);
  for (const each of opened) each.disconnect().catch(() => {}); // of a line that is dead already
}

/**
 * Begins a part of the engine once the store is there for it. One that could not look at its store when
 * it began never looks again, and spins (BullMQ 6.7): it is thrown away, and another is begun.
 *
 * @param wait asks again where the store is away
 * @param onError hears what the engine fails at by itself
 * @throws what the signal of that aborts with
 */
export function begun<T extends Opened>(
  make: () => T,
  all: Set<Opened>,
  wait: (ask: () => Promise<T>) => Promise<T>,
  onError: (error: unknown) => void,
): Promise<T> {
  return wait(async () => {
    const one = make();
    all.add(one);
    one.on('error', onError);
    try {
      await one.waitUntilReady();
    } catch (error) {
      all.delete(one);
      await one
        .getBackend()
        .close(true)
        .catch(() => {}); // of a line that is dead already
      throw error;
    }
    return one;
  });
}
