import type { Redis } from 'ioredis';
import { withTimeout } from '../../contract/retry.ts';
import { MediactlError } from '../errors.ts';
import type { QueueAddress } from './queue-address.ts';
import { QueueClient, type QueueClientDeps, type StoreDriver } from './queue-client.ts';
import { createRedisStore } from './shared-store.ts';
import { classifyOpenError, isRejectedWrite } from './store-errors.ts';

/** Maximum backoff between reconnects. It is short because most outages last only seconds. */
const maxReconnectDelayMs = 2_000;
const connectTimeoutMs = 10_000;

/**
 * Lua script that runs the commands of BullMQ's scripts, on one of BullMQ's keys and on one of ours. LPUSH comes
 * first because a full server checks only the first write of a script, and would accept a DEL.
 */
const writeAccessScript = `
  for _, key in ipairs(KEYS) do
    redis.call('LPUSH', key, 1) redis.call('RPOPLPUSH', key, key)
    redis.call('DEL', key) redis.call('ZADD', key, 1, 1) redis.call('ZRANGE', key, 0, -1)
    redis.call('DEL', key) redis.call('XADD', key, '*', 'a', 1)
    redis.call('DEL', key) redis.call('HSET', key, 'a', 1) redis.call('HGET', key, 'a')
    redis.call('DEL', key) redis.call('SET', key, 1, 'PX', 1000) redis.call('DEL', key)
  end`;

/** Connects to a queue on Redis or a compatible server, such as Valkey. ioredis reconnects by itself. */
export async function openRedisClient(address: QueueAddress, deps: QueueClientDeps): Promise<QueueClient> {
  const { Redis } = await import('./engine.lazy.ts');
  const { name } = address;
  let isOpen = false;
  let lastError: unknown;
  const redis = new Redis(address.href, {
    lazyConnect: true,
    connectTimeout: connectTimeoutMs,
    maxRetriesPerRequest: null,
    retryStrategy: (tries) => (isOpen ? Math.min(maxReconnectDelayMs, 50 * 2 ** tries) : null),
    // After a failover, the address leads to a new server, and the connected server is now a replica.
    reconnectOnError: (error) => {
      const isReplica = error.message.startsWith('READONLY');
      if (isReplica) lastError = error;
      return isReplica;
    },
  });
  redis.on('error', (error) => {
    lastError = error; // reported if the connection cannot be opened, or is down
  });
  const keys = [`bull:${name}:trial`, `mediactl:${name}:trial`];
  try {
    const client = new QueueClient(address, deps, {
      connection: redis as never,
      storeInfo: await connect(redis, address, deps),
      isConnected: () => redis.status === 'ready',
      createSharedStore: (retry) => createRedisStore(redis, name, retry),
      checkWriteAccess: () => redis.eval(writeAccessScript, keys.length, ...keys),
      ping: () => redis.ping(),
      assertSettings: async () => assertNoEviction(fieldReader(await redis.info('memory')), address),
      serverId: async () => /^run_id:(\w+)/m.exec(await redis.info('server'))?.[1],
      end: async () => {
        isOpen = false; // BullMQ's own connections stop reconnecting too
        redis.disconnect();
      },
    });
    isOpen = true;
    redis.on('close', () => isOpen && client.onDisconnected(lastError ?? new Error('the connection was lost')));
    redis.on('ready', () => {
      const wasReplica = isRejectedWrite(lastError);
      lastError = undefined;
      if (wasReplica)
        void client.recover(); // it may still be one
      else client.onConnected();
    });
    await client.open();
    return client;
  } catch (error) {
    isOpen = false;
    redis.disconnect();
    throw error instanceof MediactlError ? error : classifyOpenError(address, lastError ?? error);
  }
}

/** @throws MediactlError `queue_unusable` (exit 2); Error if the server cannot be reached */
async function connect(redis: Redis, address: QueueAddress, deps: QueueClientDeps): Promise<StoreDriver['storeInfo']> {
  // A connected server may never respond.
  const info = await withTimeout(
    connectTimeoutMs,
    async () => {
      await redis.connect();
      await redis.select(redis.options.db ?? 0); // ioredis ignores a failed select on connect
      return redis.info();
    },
    deps,
  );
  const field = fieldReader(info);
  if (field('cluster_enabled') === '1') throw classifyOpenError(address, new Error('INFO reports cluster_enabled:1'));
  assertNoEviction(field, address);
  const kind = field('valkey_version') === undefined ? 'redis' : 'valkey';
  const server = `${kind} ${field(`${kind}_version`) ?? ''}`.trim();
  if (field('aof_enabled') !== '0') return { server, durabilityWarning: undefined };
  const loss = 'AOF is off: the newest jobs are lost if the server crashes (set appendonly yes in redis.conf)';
  return { server, durabilityWarning: loss };
}

/** Returns a function that reads a field of the text of `INFO`. */
const fieldReader = (info: string) => (name: string) => new RegExp(`^${name}:(.*)`, 'm').exec(info)?.[1]?.trim();

/** @throws MediactlError `queue_unusable` (exit 2) */
function assertNoEviction(field: ReturnType<typeof fieldReader>, { label }: QueueAddress): void {
  const policy = field('maxmemory_policy') ?? 'noeviction';
  if (policy === 'noeviction') return;
  throw new MediactlError(`${label} may evict queued uploads`, {
    code: 'queue_unusable',
    reason: `its maxmemory-policy is ${policy}`,
    hint: 'set maxmemory-policy noeviction in redis.conf, or use a separate Redis',
  });
}
