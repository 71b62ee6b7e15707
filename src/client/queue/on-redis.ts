import { setMaxListeners } from 'node:events';
import type { Queue } from 'bullmq';
import { exitCodes, MediactlError } from '../errors.ts';
import type { Fleet, FleetTools, Health } from './fleet.ts';
import { Guard } from './guard.ts';
import { begun, connectMs, ended, type Opened } from './opened.ts';
import { heeding, isOutage, Outages, waitingStore, within } from './patience.ts';
import type { QueueAddress } from './queue-address.ts';
import { redisStore } from './store.ts';
import { openFailure } from './store-errors.ts';
import type { TaskResult, UploadTask } from './task.ts';

/** Maximum backoff of reconnects: an outage mostly lasts only seconds. */
const longestPauseMs = 2_000;

/**
 * Runs the commands of the engine's scripts on a key of the engine and on one of ours. LPUSH is first because a
 * full server rejects a script only at its first write, and accepts all after a DEL.
 */
const trialScript = `
  for _, key in ipairs(KEYS) do
    redis.call('LPUSH', key, 1) redis.call('RPOPLPUSH', key, key)
    redis.call('DEL', key) redis.call('ZADD', key, 1, 1) redis.call('ZRANGE', key, 0, -1)
    redis.call('DEL', key) redis.call('XADD', key, '*', 'a', 1)
    redis.call('DEL', key) redis.call('HSET', key, 'a', 1) redis.call('HGET', key, 'a')
    redis.call('DEL', key) redis.call('SET', key, 1, 'PX', 1000) redis.call('DEL', key)
  end`;

/** Connects to a queue on Redis or a compatible server, such as Valkey. */
export async function onRedis(address: QueueAddress, tools: FleetTools): Promise<Fleet> {
  const { clock, onAway } = tools;
  const engine = await import('./engine.lazy.ts');
  const closing = new AbortController();
  const signal = AbortSignal.any([tools.signal, closing.signal]);
  setMaxListeners(0, signal); // one listener per request
  const { name } = address;
  let isOpen = false;
  const redis = new engine.Redis(address.href, {
    lazyConnect: true,
    connectTimeout: connectMs,
    maxRetriesPerRequest: null,
    retryStrategy: (tries) => (isOpen ? Math.min(longestPauseMs, 50 * 2 ** tries) : null),
    // Failover: the address leads to a new server, and the connected one is now a replica.
    reconnectOnError: ({ message }) => message.startsWith('READONLY'),
  });
  let failure: unknown;
  redis.on('error', (error) => {
    failure = error; // reported if the connection cannot be opened, or is down
  });
  const keys = [`bull:${name}:trial`, `mediactl:${name}:trial`];
  const trial = async () => void (await redis.eval(trialScript, keys.length, ...keys));
  // ioredis itself waits until the server is up again.
  const asked = <T>(ask: () => Promise<T>) => heeding(ask(), { clock, signal });
  const outages = new Outages(() => asked(trial), { ...tools, signal });
  const guard = new Guard(address, outages, tools);
  const wait = guard.classified((ask) => outages.waitOut(() => asked(ask)));
  try {
    // A connected server may never respond.
    const info = await within(connectMs, tools, async () => {
      await redis.connect();
      await redis.select(redis.options.db ?? 0); // ioredis ignores a failed select on connect
      return redis.info();
    });
    const health = healthIn(info, address);
    if (tools.writes)
      await trial().catch((error) => {
        if (!isOutage(error)) throw error; // an outage: retried later
      });
    isOpen = true;
    redis.on('close', () => isOpen && onAway(failure ?? new Error('the connection broke')));
    redis.on('ready', () => {
      failure = undefined;
      if (!outages.isOne) onAway();
      guard.returned(redis.info('server').then(runIdIn));
    });
    guard.returned(Promise.resolve(runIdIn(info)));
    const connection = redis;
    const opened = new Set<Opened>();
    const begin = <T extends Opened>(make: () => T) => begun(make, opened, wait, guard.onError);
    const queue = await begin(() => new engine.Queue<UploadTask, TaskResult>(name, { connection }));
    return {
      ...{ address, health },
      store: waitingStore(redisStore(redis, name), wait),
      patiently: wait,
      get isAway() {
        return redis.status !== 'ready' || outages.isOne;
      },
      refused: guard.refused.signal,
      trial: () => guard.classified(asked)(trial),
      onReturn: guard.onReturn,
      queue: queue as unknown as Queue<UploadTask, TaskResult>,
      worker: (perform, options) =>
        begin(
          () =>
            new engine.Worker<UploadTask, TaskResult>(name, perform, {
              ...options,
              ...{ connection, autorun: false },
            }),
        ),
      events: () => begin(() => new engine.QueueEvents(name, { connection, autorun: false })),
      handedBack: () => new engine.WaitingError(),
      unrecoverable: (message) => new engine.UnrecoverableError(message),
      close: async () => {
        closing.abort();
        await ended(opened, clock);
        isOpen = false; // the engine's own connections stop reconnecting too
        redis.disconnect();
      },
    };
  } catch (error) {
    redis.disconnect();
    throw error instanceof MediactlError ? error : openFailure(address, failure ?? error);
  }
}

const runIdIn = (info: string) => /^run_id:(\w+)/m.exec(info)?.[1];

/** Parses the response to INFO, and checks the server's settings. @throws MediactlError `queue_evicts`, `queue_unusable` */
function healthIn(info: string, address: QueueAddress): Health {
  const said = new Map(
    info.split(/\r?\n/).map((line): [string, string] => {
      const [key = '', ...value] = line.split(':');
      return [key, value.join(':')];
    }),
  );
  if (said.get('cluster_enabled') === '1')
    throw openFailure(address, new Error('its INFO says cluster_enabled:1'));
  const policy = said.get('maxmemory_policy') ?? 'noeviction';
  if (policy !== 'noeviction')
    throw new MediactlError(`${address.label} may throw away uploads that it holds`, {
      code: 'queue_evicts',
      exitCode: exitCodes.usage,
      reason: `its maxmemory-policy is ${policy}`,
      hint: 'maxmemory-policy noeviction in redis.conf, or a Redis of its own',
    });
  const kind = said.has('valkey_version') ? 'valkey' : 'redis';
  return {
    server: `${kind} ${said.get(`${kind}_version`) ?? ''}`.trim(),
    doubt:
      said.get('aof_enabled') === '0'
        ? 'it keeps no append-only file: what it was told last is lost if it ends (appendonly yes in redis.conf)'
        : undefined,
  };
}
