import { CodedError } from '../client/errors.ts';
import type { QueueAddress } from './queue-address.ts';
import { classifyOpenError } from './store-errors.ts';

export type ServerInfo = {
  /** Name and version, such as `redis 7.0.15`. */
  server: string;
  /** Warning about possible data loss, if any. */
  durabilityWarning: string | undefined;
};

/** Returns a field of the text of `INFO`; undefined if the server does not have it. */
export const fieldOf = (info: string, name: string) => new RegExp(`^${name}:(.*)`, 'm').exec(info)?.[1]?.trim();

/**
 * Reads the text of `INFO`.
 *
 * @throws CodedError `queue_unusable` (exit 2) for a Redis Cluster; as `assertNoEviction`
 */
export function parseServerInfo(info: string, address: QueueAddress): ServerInfo {
  if (fieldOf(info, 'cluster_enabled') === '1')
    throw classifyOpenError(address, new Error('INFO reports cluster_enabled:1'));
  assertNoEviction(info, address);
  const kind = fieldOf(info, 'valkey_version') === undefined ? 'redis' : 'valkey';
  const server = `${kind} ${fieldOf(info, `${kind}_version`) ?? ''}`.trim();
  if (fieldOf(info, 'aof_enabled') !== '0') return { server, durabilityWarning: undefined };
  const loss = 'AOF is off: the newest jobs are lost if the server crashes (set appendonly yes in redis.conf)';
  return { server, durabilityWarning: loss };
}

/** Checks that the server keeps all data. @throws CodedError `queue_unusable` (exit 2) if it may evict keys */
export function assertNoEviction(info: string, { label }: QueueAddress): void {
  const policy = fieldOf(info, 'maxmemory_policy') ?? 'noeviction';
  if (policy === 'noeviction') return;
  throw new CodedError(`${label} may evict queued uploads`, {
    code: 'queue_unusable',
    reason: `its maxmemory-policy is ${policy}`,
    hint: 'set maxmemory-policy noeviction in redis.conf, or use a separate Redis',
  });
}
