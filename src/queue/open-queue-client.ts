import type { Redis } from 'ioredis';
import { CodedError } from '../client/errors.ts';
import { retryUntil, withGrace, withTimeout } from '../shared/retry.ts';
import type { QueueAddress } from './queue-address.ts';
import { QueueClient, type QueueClientDeps } from './queue-client.ts';
import { parseServerInfo } from './server-info.ts';
import { classifyOpenError, isRejectedWrite } from './store-errors.ts';

/** Maximum backoff between reconnects. It is short because most outages last only seconds. */
const maxReconnectDelayMs = 2_000;
const connectTimeoutMs = 10_000;
const openRetryDelayMs = 1_000;

/**
 * Connects to a queue on Redis or a compatible server, such as Valkey. ioredis reconnects by itself.
 *
 * @throws CodedError `queue_unreachable` (exit 10); `queue_refused` (exit 4) for a wrong password
 *   or missing permissions; `queue_unusable` (exit 2) for a Redis Cluster, or a server that may evict keys
 */
export async function openQueueClient(address: QueueAddress, deps: QueueClientDeps): Promise<QueueClient> {
  const { Redis } = await import('./engine.lazy.ts');
  let client: QueueClient | undefined;
  let lastError: unknown;
  const redis = new Redis(address.href, {
    lazyConnect: true,
    connectTimeout: connectTimeoutMs,
    maxRetriesPerRequest: null,
    // BullMQ's own connections have these options too.
    retryStrategy: (tries) => (client?.isOpen ? Math.min(maxReconnectDelayMs, 50 * 2 ** tries) : null),
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
  try {
    const opened = new QueueClient(address, deps, redis, parseServerInfo(await connect(redis, deps), address));
    client = opened;
    redis.on('close', () => opened.isOpen && opened.onDisconnected(lastError ?? new Error('the connection was lost')));
    redis.on('ready', () => {
      const wasReplica = isRejectedWrite(lastError);
      lastError = undefined;
      if (wasReplica)
        void opened.recover(); // it may still be one
      else opened.onConnected();
    });
    await opened.open();
    return opened;
  } catch (error) {
    (client ?? redis).disconnect();
    throw error instanceof CodedError ? error : classifyOpenError(address, lastError ?? error);
  }
}

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
      if (explanation.code !== 'queue_unreachable' || explanation.subcode) return undefined;
      onConnectionChange(explanation.underlying ?? error);
      return openRetryDelayMs;
    },
  });
}

/** Connects to the server. @returns the text of its `INFO` @throws Error if it cannot be reached */
const connect = (redis: Redis, deps: QueueClientDeps): Promise<string> =>
  // A connected server may never respond.
  withTimeout(
    connectTimeoutMs,
    async () => {
      await redis.connect();
      await redis.select(redis.options.db ?? 0); // ioredis ignores a failed select on connect
      return redis.info();
    },
    deps,
  );
