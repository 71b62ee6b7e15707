import type { QueueAddress } from '../settings/queue-address.ts';
import type { Fleet, FleetTools } from './fleet.ts';
import { onPostgres } from './on-postgres.ts';
import { onRedis } from './on-redis.ts';

/**
 * @throws MediactlError `queue_unreachable` (10); `queue_refused` (4) for a wrong password;
 *   `queue_evicts` (2) for a Redis that may throw away what it holds; `queue_unusable` (2)
 */
export const openFleet = (address: QueueAddress, tools: FleetTools): Promise<Fleet> =>
  address.store === 'redis' ? onRedis(address, tools) : onPostgres(address, tools);
