import { setMaxListeners } from 'node:events';
import type { Queue } from 'bullmq';
import { MediactlError } from '../errors.ts';
import { ConnectionMonitor, createRetryingStore, isOutage, raceAbort, withTimeout } from './connection-monitor.ts';
import { closeAll, connectTimeoutMs, type ManagedConnection, startManaged } from './managed-connection.ts';
import type { QueueAddress } from './queue-address.ts';
import type { QueueClient, QueueClientDeps, StoreInfo } from './queue-client.ts';
import { classifyOpenError } from './store-errors.ts';
import { StoreGuard } from './store-guard.ts';
import type { TaskResult, UploadTask } from './task.ts';
import { createRedisStore } from './upload-store.ts';

/** Maximum backoff between reconnects. It is short because most outages last only seconds. */
const maxReconnectDelayMs = 2_000;

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

/** Connects to a queue on Redis or a compatible server, such as Valkey. */
export async function openRedisClient(address: QueueAddress, deps: QueueClientDeps): Promise<QueueClient> {
  const { clock, onConnectionChange } = deps;
  const engine = await import('./engine.lazy.ts');
  const closing = new AbortController();
  const signal = AbortSignal.any([deps.signal, closing.signal]);
  setMaxListeners(0, signal); // one listener per request
  const { name } = address;
  let isOpen = false;
  const redis = new engine.Redis(address.href, {
    lazyConnect: true,
    connectTimeout: connectTimeoutMs,
    maxRetriesPerRequest: null,
    retryStrategy: (tries) => (isOpen ? Math.min(maxReconnectDelayMs, 50 * 2 ** tries) : null),
    // After a failover, the address leads to a new server, and the connected server is now a replica.
    reconnectOnError: ({ message }) => message.startsWith('READONLY'),
  });
  let lastError: unknown;
  redis.on('error', (error) => {
    lastError = error; // reported if the connection cannot be opened, or is down
  });
  const keys = [`bull:${name}:trial`, `mediactl:${name}:trial`];
  const checkWriteAccess = async () => void (await redis.eval(writeAccessScript, keys.length, ...keys));
  // ioredis itself waits until the server is up again.
  const abortable = <T>(ask: () => Promise<T>) => raceAbort(ask(), { clock, signal });
  const monitor = new ConnectionMonitor(() => abortable(checkWriteAccess), { ...deps, signal });
  const guard = new StoreGuard(address, monitor, deps);
  const retry = guard.withErrorClassification((ask) => monitor.retryUntilUp(() => abortable(ask)));
  try {
    // A connected server may never respond.
    const info = await withTimeout(connectTimeoutMs, deps, async () => {
      await redis.connect();
      await redis.select(redis.options.db ?? 0); // ioredis ignores a failed select on connect
      return redis.info();
    });
    const storeInfo = parseStoreInfo(info, address);
    if (deps.checksWriteAccess)
      await checkWriteAccess().catch((error) => {
        if (!isOutage(error)) throw error; // an outage: retried later
      });
    isOpen = true;
    redis.on('close', () => isOpen && onConnectionChange(lastError ?? new Error('the connection broke')));
    redis.on('ready', () => {
      lastError = undefined;
      if (!monitor.isDown) onConnectionChange();
      guard.notifyReconnected(redis.info('server').then(parseRunId));
    });
    guard.notifyReconnected(Promise.resolve(parseRunId(info)));
    const connection = redis;
    const parts = new Set<ManagedConnection>();
    const start = <T extends ManagedConnection>(make: () => T) => startManaged(make, parts, retry, guard.onError);
    const queue = await start(() => new engine.Queue<UploadTask, TaskResult>(name, { connection }));
    return {
      ...{ address, storeInfo },
      store: createRetryingStore(createRedisStore(redis, name), retry),
      withRetry: retry,
      get isDisconnected() {
        return redis.status !== 'ready' || monitor.isDown;
      },
      fatalSignal: guard.fatal.signal,
      checkWriteAccess: () => guard.withErrorClassification(abortable)(checkWriteAccess),
      onReconnect: guard.onReconnect,
      queue: queue as unknown as Queue<UploadTask, TaskResult>,
      worker: (perform, options) =>
        start(
          () =>
            new engine.Worker<UploadTask, TaskResult>(name, perform, {
              ...options,
              ...{ connection, autorun: false },
            }),
        ),
      events: () => start(() => new engine.QueueEvents(name, { connection, autorun: false })),
      requeueSignal: () => new engine.WaitingError(),
      permanentFailure: (message) => new engine.UnrecoverableError(message),
      close: async () => {
        closing.abort();
        await closeAll(parts, clock);
        isOpen = false; // BullMQ's own connections stop reconnecting too
        redis.disconnect();
      },
    };
  } catch (error) {
    redis.disconnect();
    throw error instanceof MediactlError ? error : classifyOpenError(address, lastError ?? error);
  }
}

const parseRunId = (info: string) => /^run_id:(\w+)/m.exec(info)?.[1];

/**
 * Parses the response to INFO, and checks the server's settings.
 *
 * @throws MediactlError `queue_evicts` (exit 2) or `queue_unusable` (exit 2)
 */
function parseStoreInfo(info: string, address: QueueAddress): StoreInfo {
  const fields = new Map(
    info.split(/\r?\n/).map((line): [string, string] => {
      const [key = '', ...value] = line.split(':');
      return [key, value.join(':')];
    }),
  );
  if (fields.get('cluster_enabled') === '1')
    throw classifyOpenError(address, new Error('its INFO says cluster_enabled:1'));
  const policy = fields.get('maxmemory_policy') ?? 'noeviction';
  if (policy !== 'noeviction')
    throw new MediactlError(`${address.label} may throw away uploads that it holds`, {
      code: 'queue_evicts',
      reason: `its maxmemory-policy is ${policy}`,
    });
  const kind = fields.has('valkey_version') ? 'valkey' : 'redis';
  return {
    server: `${kind} ${fields.get(`${kind}_version`) ?? ''}`.trim(),
    durabilityWarning:
      fields.get('aof_enabled') === '0'
        ? 'it keeps no append-only file: what it was told last is lost if it ends (appendonly yes in redis.conf)'
        : undefined,
  };
}
