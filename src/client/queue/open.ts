import type { Fleet, FleetTools } from './fleet.ts';
import { onPostgres } from './on-postgres.ts';
import { onRedis } from './on-redis.ts';
import { heeding } from './patience.ts';
import type { QueueAddress } from './queue-address.ts';
import { openFailure } from './store-errors.ts';

/**
 * @throws MediactlError `queue_unreachable` (10), `queue_tls` (10); `queue_refused` (4) for a wrong
 *   password or rights that lack; `queue_evicts` (2) for a Redis that may throw away what it holds;
 *   `queue_unusable` (2) for a Redis Cluster and some poolers
 */
export const openFleet = (address: QueueAddress, tools: FleetTools): Promise<Fleet> =>
  address.store === 'redis' ? onRedis(address, tools) : onPostgres(address, tools);

const retryMs = 1_000;
const silentMs = 1_800;

/** Opens a store that may not be there yet, and tells that it waits. @throws as `openFleet`, and what the signal aborts with */
export async function openPatiently(address: QueueAddress, tools: FleetTools): Promise<Fleet> {
  const { clock, signal, onAway } = tools;
  for (;;) {
    const answered = new AbortController();
    clock.sleep(silentMs, answered.signal).then(
      () => onAway({ message: 'no answer yet' }),
      () => {}, // it answered, or refused
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
