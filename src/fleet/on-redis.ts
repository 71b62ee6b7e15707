import { setMaxListeners } from 'node:events';
import type { Queue } from 'bullmq';
import { exitCodes, MediactlError } from '../errors.ts';
import type { QueueAddress } from '../settings/queue-address.ts';
import type { Fleet, FleetTools, Health } from './fleet.ts';
import { begun, connectMs, ended, type Opened, unreachable } from './opened.ts';
import { heeding, Outages, waitingStore, within } from './patience.ts';
import { redisStore } from './store.ts';
import type { TaskResult, UploadTask } from './task.ts';

/** It comes back within seconds, where it does. */
const longestPauseMs = 2_000;

/** Redis, and what speaks its protocol. */
export async function onRedis(address: QueueAddress, tools: FleetTools): Promise<Fleet> {
  const { clock, onAway } = tools;
  const engine = await import('./engine.lazy.ts');
  setMaxListeners(0, tools.signal); // of each question that is asked
  // ioredis waits by itself, for whomever.
  const wait = <T>(ask: () => Promise<T>) => heeding(ask(), tools);
  const { name } = address;
  let isOpen = false;
  const redis = new engine.Redis(address.href, {
    lazyConnect: true,
    connectTimeout: connectMs,
    maxRetriesPerRequest: null,
    retryStrategy: (tries) => (isOpen ? Math.min(longestPauseMs, 50 * 2 ** tries) : null),
  });
  let failure: unknown;
  redis.on('error', (error) => {
    failure = error; // said where it cannot be opened; waited out afterwards
  });
  try {
    // A server that is there may say nothing at all.
    const info = await within(connectMs, tools, async () => {
      await redis.connect();
      await redis.select(redis.options.db ?? 0); // which it would pass over otherwise
      return redis.info();
    });
    const health = healthIn(info, address);
    isOpen = true;
    redis.on('close', () => isOpen && onAway(true));
    redis.on('ready', () => onAway(false));
    const connection = redis;
    const outages = new Outages(async () => void (await wait(() => redis.ping())), tools);
    const opened = new Set<Opened>();
    const begin = <T extends Opened>(make: () => T) =>
      begun(make, opened, (ask) => outages.waitOut(() => wait(ask)));
    const queue = await begin(() => new engine.Queue<UploadTask, TaskResult>(name, { connection }));
    return {
      ...{ address, health },
      store: waitingStore(redisStore(redis, name), wait),
      patiently: wait,
      get isAway() {
        return redis.status !== 'ready';
      },
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
        await ended(opened, clock);
        isOpen = false; // the engine's own connections try no more either
        redis.disconnect();
      },
    };
  } catch (error) {
    redis.disconnect();
    throw error instanceof MediactlError ? error : unreachable(address, failure ?? error);
  }
}

/** @throws MediactlError `queue_evicts` */
function healthIn(info: string, { label }: QueueAddress): Health {
  const said = new Map(
    info.split(/\r?\n/).map((line): [string, string] => {
      const [key = '', ...value] = line.split(':');
      return [key, value.join(':')];
    }),
  );
  const policy = said.get('maxmemory_policy') ?? 'noeviction';
  if (policy !== 'noeviction')
    throw new MediactlError(`${label} may throw away uploads that it holds`, {
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
