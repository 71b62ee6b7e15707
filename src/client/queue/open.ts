import type { Fleet, FleetTools } from './fleet.ts';
import { onPostgres } from './on-postgres.ts';
import { onRedis } from './on-redis.ts';
import { heeding } from './patience.ts';
import type { QueueAddress } from './queue-address.ts';
import { openFailure } from './store-errors.ts';

/**
 * Connects to the queue.
 *
 * @throws MediactlError `queue_unreachable` (10), `queue_tls` (10); `queue_refused` (4) for a wrong
 *   password or missing permissions; `queue_evicts` (2) for a Redis that may evict keys;
 *   `queue_unusable` (2) for a Redis Cluster and some connection poolers
 */
export const openFleet = (address: QueueAddress, tools: FleetTools): Promise<Fleet> =>
  address.store === 'redis' ? onRedis(address, tools) : onPostgres(address, tools);

const retryMs = 1_000;
const silentMs = 1_800;

/** Connects to the queue, and retries while the store is unreachable. @throws as `openQueueClient`; the abort reason of the signal */
export async function openPatiently(address: QueueAddress, tools: FleetTools): Promise<Fleet> {
  const { clock, signal, onAway } = tools;
  for (;;) {
    const answered = new AbortController();
    clock.sleep(silentMs, answered.signal).then(
      () => onAway({ message: 'no answer yet' }),
      () => {}, // it responded, or rejected the connection
    );
    try {
      const fleet = await heeding(openFleet(address, tools), tools);
      onAway();
      return fleet;
    } catch (error) {
      const { explanation } = openFailure(address, error);
      if (signal.aborted || explanation.code !== 'queue_unreachable') throw error;
      onAway(explanation.underlying ?? error);
    } finally {
      answered.abort();
    }
    await clock.sleep(retryMs, signal);
  }
}
