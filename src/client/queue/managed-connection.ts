import type { Clock } from '../../contract/clock.ts';
import { waitAtMost } from './connection-monitor.ts';

/* Opening and closing of BullMQ queues, workers and event listeners, for both stores. */

export const connectTimeoutMs = 10_000;
export const closeTimeoutMs = 3_000;

/** A BullMQ queue, worker or event listener, with its connections. */
export type ManagedConnection = {
  on(event: 'error', listener: (error: unknown) => void): unknown;
  waitUntilReady(): Promise<unknown>;
  /** Returns the connections that this object opened itself, without the shared connection. */
  getBackend(): { close(isForced: boolean): Promise<void> };
  close(): Promise<void>;
  disconnect(): Promise<void>;
};

/** Closes all connections within a timeout, so that a store that is down does not keep the process alive. */
export async function closeAll(connections: ReadonlySet<ManagedConnection>, clock: Clock): Promise<void> {
  const closed = Promise.all([...connections].map((each) => each.close().catch(() => {})));
  await waitAtMost(closeTimeoutMs, clock, closed);
  for (const each of connections) each.disconnect().catch(() => {}); // the connection is dead already
}

/**
 * Creates a BullMQ queue, worker or event listener, and recreates it until the store responds. In BullMQ 6.7, an
 * object whose first connection fails never recovers and busy-loops.
 *
 * @param all set to which the object is added, to be closed later
 * @param retry runs a function and retries it while the store is down
 * @param onError called with errors of background work
 * @throws the abort reason of the signal that `retry` uses
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
