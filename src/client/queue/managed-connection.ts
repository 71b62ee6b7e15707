import type { Clock } from '../clock.ts';
import { waitAtMost } from './connection-monitor.ts';

/* Opening and closing of BullMQ parts, for both stores. */

export const connectTimeoutMs = 10_000;
export const closeTimeoutMs = 3_000;

/** A BullMQ queue, worker or event listener, with its connections. */
export type ManagedConnection = {
  on(event: 'error', listener: (error: unknown) => void): unknown;
  waitUntilReady(): Promise<unknown>;
  /** Returns the connections that it opened itself, without the shared one. */
  getBackend(): { close(isForced: boolean): Promise<void> };
  close(): Promise<void>;
  disconnect(): Promise<void>;
};

/** Closes all parts, within a timeout: a store that is down must not keep the process alive. */
export async function closeAll(
  connections: ReadonlySet<ManagedConnection>,
  clock: Clock,
): Promise<void> {
  const closed = Promise.all([...connections].map((each) => each.close().catch(() => {})));
  await waitAtMost(closeTimeoutMs, clock, closed);
  for (const each of connections) each.disconnect().catch(() => {}); // the connection is dead already
}

/**
 * Starts a part of the engine, and recreates it until its store responds. If BullMQ's (6.7) first connection
 * fails, the part never recovers and busy-loops.
 *
 * @param all open parts, to be closed later
 * @param retry retries while the store is down
 * @param onError called with errors of background work
 * @throws the abort reason of the signal that `wait` uses
 */
export function startManaged<T extends ManagedConnection>(
  create: () => T,
  all: Set<ManagedConnection>,
  retry: (ask: () => Promise<T>) => Promise<T>,
  onError: (error: unknown) => void,
): Promise<T> {
  return retry(async () => {
    const connection = create();
    all.add(connection);
    connection.on('error', onError);
    try {
      await connection.waitUntilReady();
    } catch (error) {
      all.delete(connection);
      await connection
        .getBackend()
        .close(true)
        .catch(() => {}); // the connection is dead already
      throw error;
    }
    return connection;
  });
}
