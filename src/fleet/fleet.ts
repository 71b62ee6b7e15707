import { setMaxListeners } from 'node:events';
import type { Job, Processor, Queue, QueueEvents, Worker, WorkerOptions } from 'bullmq';
import type { Clock } from '../clock.ts';
import { exitCodes, MediactlError } from '../errors.ts';
import type { QueueAddress } from '../settings/queue-address.ts';
import { atMost, heeding, patiently, waitingStore } from './patience.ts';
import { postgresStore, postgresTables, redisStore, type Store } from './store.ts';
import type { TaskResult, UploadTask } from './task.ts';

export type UploadJobOfQueue = Job<UploadTask, TaskResult>;

/** What a store is, and what it does with what it is given. */
type Health = {
  /** Such as `redis 7.0.15`. */
  server: string;
  /** What may be lost, in a sentence; undefined where nothing is. */
  doubt: string | undefined;
};

/** A queue of uploads that several machines work at, and what is kept beside it. */
export type Fleet = {
  address: QueueAddress;
  health: Health;
  queue: Queue<UploadTask, TaskResult>;
  store: Store;
  worker(
    perform: Processor<UploadTask, TaskResult>,
    options: Omit<WorkerOptions, 'connection'>,
  ): Worker<UploadTask, TaskResult>;
  /** Asks the queue, and waits out a store that is away. What it is asked may be asked twice. */
  patiently<T>(ask: () => Promise<T>): Promise<T>;
  /** What happens to jobs from now on. */
  events(): QueueEvents;
  /** Of a processor: the job is not failed, but back in the queue. */
  handedBack(): Error;
  /** Of a processor: the job is not tried again. */
  unrecoverable(message: string): Error;
  close(): Promise<void>;
};

const connectMs = 10_000;
/** Of PostgreSQL, which has a hundred for everybody: two may listen, the others ask briefly. */
const connections = 6;
/** Redis and PostgreSQL come back within seconds, where they do. */
const longestPauseMs = 2_000;

type Tools = {
  clock: Clock;
  signal: AbortSignal;
  /** Told when the store cannot be reached any more, and when it can again. */
  onAway(isAway: boolean): void;
};

/**
 * @throws MediactlError `queue_unreachable` (10); `queue_refused` (4) for a wrong password;
 *   `queue_evicts` (2) for a Redis that may throw away what it holds
 */
export const openFleet = (address: QueueAddress, tools: Tools): Promise<Fleet> =>
  address.store === 'redis' ? onRedis(address, tools) : onPostgres(address, tools);

async function onRedis(address: QueueAddress, tools: Tools): Promise<Fleet> {
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
    const queue = new engine.Queue<UploadTask, TaskResult>(name, { connection });
    const opened: Opened[] = [queue];
    quiet(queue);
    return {
      ...{ address, health },
      store: waitingStore(redisStore(redis, name), wait),
      patiently: wait,
      queue: queue as unknown as Queue<UploadTask, TaskResult>,
      worker: (perform, options) =>
        kept(new engine.Worker(name, perform, { ...options, connection }), opened),
      events: () => kept(quiet(new engine.QueueEvents(name, { connection })), opened),
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

async function onPostgres(address: QueueAddress, tools: Tools): Promise<Fleet> {
  const { clock } = tools;
  const engine = await import('./engine.lazy.ts');
  const wait = <T>(ask: () => Promise<T>) => patiently(ask, tools);
  const { name, href } = address;
  const pool = new engine.Pool({
    connectionString: href,
    connectionTimeoutMillis: connectMs,
    keepAlive: true,
    max: connections,
    options: '-c search_path=bullmq', // as the engine calls its schema
    Client: engine.QuietClient,
  });
  // Of a connection that nobody uses: whoever asks next is to wait.
  pool.on('error', () => void patiently(() => pool.query('select 1'), tools).catch(() => {}));
  try {
    const client = await pool.connect();
    let server = '';
    try {
      // Whoever only works with them need not own them.
      await engine
        .assertSchemaCompatibility(client, 'bullmq')
        .catch(() => engine.runMigrations(client));
      const { rows } = await client.query("select to_regclass('mediactl.uploads') as uploads");
      if (rows[0].uploads === null) await client.query(postgresTables);
      server = String((await client.query('show server_version')).rows[0].server_version);
    } finally {
      client.release();
    }
    const backend = engine.createPostgresBackend;
    const connection = pool as never;
    const queue = new engine.Queue<UploadTask, TaskResult>(name, { connection }, backend as never);
    const opened: Opened[] = [queue];
    quiet(queue);
    return {
      address,
      health: { server: `postgresql ${server}`, doubt: undefined },
      store: waitingStore(postgresStore(pool, name), wait),
      patiently: wait,
      queue: queue as unknown as Queue<UploadTask, TaskResult>,
      worker: (perform, options) =>
        kept(
          new engine.Worker(name, perform, { ...options, connection }, backend as never),
          opened,
        ) as unknown as Worker<UploadTask, TaskResult>,
      events: () =>
        kept(
          quiet(new engine.QueueEvents(name, { connection }, backend as never)),
          opened,
        ) as unknown as QueueEvents,
      handedBack: () => new engine.WaitingError(),
      unrecoverable: (message) => new engine.UnrecoverableError(message),
      close: async () => {
        await ended(opened, clock);
        await atMost(closeMs, clock, pool.end());
      },
    };
  } catch (error) {
    await pool.end().catch(() => {}); // what it ends with matters less than why
    throw error instanceof MediactlError ? error : unreachable(address, error);
  }
}

/** An engine that loses its line says so to whoever listens, and ends the process where nobody does. */
function quiet<T extends { on(event: 'error', hear: () => void): unknown }>(emitter: T): T {
  emitter.on('error', () => {});
  return emitter;
}

function kept<T extends Opened>(one: T, all: Opened[]): T {
  all.push(one);
  return one;
}

const closeMs = 3_000;

/** @throws Error where it takes longer, what the signal aborts with */
async function within<T>(
  delayMs: number,
  { clock, signal }: Tools,
  work: () => Promise<T>,
): Promise<T> {
  const done = new AbortController();
  const late = clock.sleep(delayMs, AbortSignal.any([signal, done.signal])).then(() => {
    throw new Error(`it did not answer within ${delayMs / 1000} s`);
  });
  try {
    return await Promise.race([work(), late]);
  } finally {
    done.abort();
    late.catch(() => {}); // where the work was done first
  }
}

type Opened = { close(): Promise<void>; disconnect(): Promise<void> };

/** A store that is away does not keep the process. */
async function ended(opened: readonly Opened[], clock: Clock): Promise<void> {
  const closed = Promise.all(opened.map((each) => each.close().catch(() => {})));
  await atMost(closeMs, clock, closed);
  for (const each of opened) each.disconnect().catch(() => {}); // of a line that is dead already
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

/** What a store says that does not let one in: Redis, then SQLSTATE 28 and 42501 (PostgreSQL). */
const isRefusal = (message: string, code: string) =>
  /^(?:NOAUTH|WRONGPASS|NOPERM)\b/.test(message) || /^(?:28|42501)/.test(code);

/** SQLSTATE of a server that is there: no such database, too old. */
const isAnswer = (code: string) => /^[0-9A-Z]{5}$/.test(code) && !/^(?:08|57|E)/.test(code);

function unreachable({ label, store }: QueueAddress, error: unknown): MediactlError {
  const { message, code = '' } = error as { message: string; code?: string };
  if (isRefusal(message, code))
    return new MediactlError(`${label} does not let mediactl in`, {
      code: 'queue_refused',
      exitCode: exitCodes.unauthenticated,
      reason: message,
      hint:
        store === 'redis'
          ? 'user and password stand in MEDIACTL_QUEUE, or in the profile'
          : 'user and password stand in MEDIACTL_QUEUE, or in the profile; the first to come makes schemas',
      underlying: error,
    });
  if (isAnswer(code))
    return new MediactlError(`the queue ${label} cannot be used`, {
      code: 'queue_unusable',
      exitCode: exitCodes.usage,
      reason: message,
      hint: 'check the address, its database above all',
      underlying: error,
    });
  return new MediactlError(`the queue ${label} cannot be reached`, {
    code: 'queue_unreachable',
    exitCode: exitCodes.unreachable,
    reason: message || code,
    hint: 'check the address, and that the server runs',
    retryable: true,
    underlying: error,
  });
}
