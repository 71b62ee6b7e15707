import { retryUntil, withGrace } from '../../contract/retry.ts';
import { openPostgresClient } from './postgres-queue-client.ts';
import type { QueueAddress } from './queue-address.ts';
import type { QueueClient, QueueClientDeps } from './queue-client.ts';
import { openRedisClient } from './redis-queue-client.ts';
import { classifyOpenError } from './store-errors.ts';

/**
 * Connects to the queue.
 *
 * @throws MediactlError `queue_unreachable` or `queue_tls` (exit 10); `queue_refused` (exit 4) for a wrong password
 *   or missing permissions; `queue_unusable` (exit 2) if the Redis server is configured to evict keys;
 *   `queue_unusable` (exit 2) for a Redis Cluster and some connection poolers
 */
export const openQueueClient = (address: QueueAddress, deps: QueueClientDeps): Promise<QueueClient> =>
  address.store === 'redis' ? openRedisClient(address, deps) : openPostgresClient(address, deps);

const retryDelayMs = 1_000;

/** Connects, and retries while the store is unreachable. @throws as `openQueueClient`; the signal's abort reason */
export function openQueueClientWithRetry(address: QueueAddress, deps: QueueClientDeps): Promise<QueueClient> {
  const { clock, signal, onConnectionChange } = deps;
  const open = async () => {
    const client = await withGrace(openQueueClient(address, deps), deps);
    onConnectionChange();
    return client;
  };
  return retryUntil(signal, open, {
    clock,
    delayAfter: (error) => {
      const { explanation } = classifyOpenError(address, error);
      if (explanation.code !== 'queue_unreachable') return undefined;
      onConnectionChange(explanation.underlying ?? error);
      return retryDelayMs;
    },
  });
}
