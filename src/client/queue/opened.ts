import type { Clock } from '../clock.ts';
import { atMost } from './patience.ts';

/* Opening and closing of BullMQ parts, for both stores. */

export const connectMs = 10_000;
export const closeMs = 3_000;

/** A BullMQ queue, worker or event listener, with its connections. */
export type Opened = {
  on(event: 'error', hear: (error: unknown) => void): unknown;
  waitUntilReady(): Promise<unknown>;
  /** Returns the connections that it opened itself, without the shared one. */
  getBackend(): { close(isForced: boolean): Promise<void> };
  close(): Promise<void>;
  disconnect(): Promise<void>;
};

/** Closes all parts, within a timeout: a store that is down must not keep the process alive. */
export async function ended(opened: ReadonlySet<Opened>, clock: Clock): Promise<void> {
  const closed = Promise.all([...opened].map((each) => each.close().catch(() => {})));
  await atMost(closeMs, clock, closed);
  for (const each of opened) each.disconnect().catch(() => {}); // the connection is dead already
}

/**
 * Starts a part of the engine, and recreates it until its store responds. If BullMQ's (6.7) first connection
 * fails, the part never recovers and busy-loops.
 *
 * @param all open parts, to be closed later
 * @param wait retries while the store is down
 * @param onError called with errors of background work
 * @throws the abort reason of the signal that `wait` uses
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
        .catch(() => {}); // the connection is dead already
      throw error;
    }
    return one;
  });
}
