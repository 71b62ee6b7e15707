import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Pool, QueryResult } from 'pg';

/** Runs a request, and retries it while the store is down. The request must be idempotent. */
export type WithRetry = <T>(request: () => Promise<T>) => Promise<T>;

/** Event that BullMQ recorded about a job. `fields` are unvalidated data from the store. */
export type JobEvent = { jobId: string; event: string; fields: Record<string, unknown> };

/** Position in the events of a BullMQ queue: the id of the last event that was read. */
type EventPage = {
  events: JobEvent[];
  position: string;
  /** True if events after the previous position may have been deleted before they were read. */
  hasGap: boolean;
};

/** State that earlier attempts left, for the attempt that claims a job. */
export type Claim = {
  /** Random fencing token, with which the store rejects writes from attempts with an earlier claim. */
  fence: string;
  /** Entry, as JSON, to resume from. */
  entry: string | undefined;
  /** Result as JSON, if the file is already uploaded. */
  receipt: string | undefined;
};

/**
 * Stores the upload state of a queue's jobs: an entry while a file is being uploaded, then a permanent
 * receipt. Unlike BullMQ's job data, this state is protected by a fencing token, so that an attempt that has lost
 * its lease cannot write.
 */
export type SharedStore = {
  /** Reads the store's clock, in milliseconds since the epoch. */
  now(): Promise<number>;
  claim(id: string): Promise<Claim>;
  /** Writes a job's entry (JSON), or removes it. @returns false if another attempt has claimed the job */
  writeEntry(id: string, fence: string, entry: string | undefined): Promise<boolean>;
  /** Replaces the entry with the receipt, atomically. @returns false if another attempt has claimed the job */
  finish(id: string, fence: string, receipt: string): Promise<boolean>;
  /** Writes a receipt if there is none, regardless of claims. */
  restoreReceipt(id: string, receipt: string): Promise<void>;
  findReceipts(ids: readonly string[]): Promise<(string | undefined)[]>;
  /** Removes all stored state of these uploads by job id: entries, receipts and claims. */
  remove(ids: readonly string[]): Promise<void>;
  /** Records the name of a root, so that every command finds the files below it. */
  addRoot(name: string): Promise<void>;
  /** Reads the names of all roots for which files were queued. */
  rootNames(): Promise<string[]>;
  /** Reads up to 1,000 events of a BullMQ queue after a position, or only the newest position. */
  readEvents(queueName: string, position: string | undefined): Promise<EventPage>;
};

/** Number of events in a page. BullMQ keeps 10,000, so after a shorter page none can be missing. */
const maxEvents = 1_000;
const isRootName = (name: string) => /^[A-Za-z][\w-]*$/.test(name);

const fenceCheckLua = `if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end\n`;
const scripts = {
  claim: `
    redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
    return {redis.call('HGET', KEYS[2], ARGV[1]), redis.call('HGET', KEYS[3], ARGV[1])}`,
  write: `${fenceCheckLua}redis.call('HSET', KEYS[2], ARGV[1], ARGV[3]) return 1`,
  remove: `${fenceCheckLua}redis.call('HDEL', KEYS[2], ARGV[1]) return 1`,
  finish: `${fenceCheckLua}
    redis.call('HSET', KEYS[3], ARGV[1], ARGV[3])
    redis.call('HDEL', KEYS[2], ARGV[1])
    redis.call('HDEL', KEYS[1], ARGV[1])
    return 1`,
  restore: `
    if redis.call('HSETNX', KEYS[3], ARGV[1], ARGV[2]) == 1 then
      redis.call('HDEL', KEYS[2], ARGV[1])
      redis.call('HDEL', KEYS[1], ARGV[1])
    end`,
};

/** Creates an upload store on Redis. Each write and its fencing check run in one Lua script, which is atomic. */
export function createRedisStore(redis: Redis, queue: string, retry: WithRetry): SharedStore {
  const keys = ['fences', 'pages', 'receipts'].map((part) => `mediactl:${queue}:${part}`);
  const [fences = '', pages = '', receipts = ''] = keys;
  const roots = `mediactl:${queue}:roots`;
  const run = (script: keyof typeof scripts, ...args: string[]) =>
    retry(() => redis.eval(scripts[script], keys.length, ...keys, ...args));
  return {
    now: async () => {
      const [seconds, micros] = (await retry(() => redis.time())).map(Number) as [number, number];
      return seconds * 1_000 + micros / 1_000;
    },
    claim: async (id) => {
      const fence = randomUUID();
      const [page, receipt] = (await run('claim', id, fence)) as [string?, string?];
      return { fence, entry: page ?? undefined, receipt: receipt ?? undefined };
    },
    writeEntry: async (id, fence, entry) =>
      (await (entry === undefined ? run('remove', id, fence) : run('write', id, fence, entry))) === 1,
    finish: async (id, fence, receipt) => (await run('finish', id, fence, receipt)) === 1,
    restoreReceipt: async (id, receipt) => void (await run('restore', id, receipt)),
    findReceipts: async (ids) => {
      if (ids.length === 0) return [];
      return (await retry(() => redis.hmget(receipts, ...ids))).map((each) => each ?? undefined);
    },
    remove: async (ids) => {
      for (const key of [fences, pages, receipts]) if (ids.length > 0) await retry(() => redis.hdel(key, ...ids));
    },
    addRoot: async (name) => void (await retry(() => redis.sadd(roots, name))),
    rootNames: async () => (await retry(() => redis.smembers(roots))).filter(isRootName),
    readEvents: async (queueName, position) => {
      const key = `bull:${queueName}:events`;
      if (position === undefined) {
        const [newest] = await retry(() => redis.xrevrange(key, '+', '-', 'COUNT', 1));
        return { events: [], position: newest?.[0] ?? '0-0', hasGap: false };
      }
      const found = await retry(() => redis.xrange(key, `(${position}`, '+', 'COUNT', maxEvents));
      const readOldest = async () => (await retry(() => redis.xrange(key, '-', '+', 'COUNT', 1)))[0]?.[0] ?? position;
      return {
        events: found.map(([, fields]) => toJobEvent(fields)),
        position: found.at(-1)?.[0] ?? position,
        hasGap: found.length === maxEvents && isLaterEvent(await readOldest(), position),
      };
    },
  };
}

/** Converts the fields of a Redis stream entry, which are names and values in turn. */
function toJobEvent(list: readonly string[]): JobEvent {
  const all = list.flatMap((name, at) => (at % 2 === 0 ? [[name, list[at + 1]] as const] : []));
  const { event = '', jobId = '', ...fields } = Object.fromEntries(all);
  return { jobId, event, fields };
}

/** Compares two ids of Redis stream entries, such as `1718000000000-3`. */
function isLaterEvent(id: string, position: string): boolean {
  const [[time = 0, count = 0], [otherTime = 0, otherCount = 0]] = [id, position].map((each) =>
    each.split('-').map(Number),
  ) as [number[], number[]];
  return time === otherTime ? count > otherCount : time > otherTime;
}

/** DDL for the tables. Run it under a lock, because concurrent `if not exists` statements race. */
export const createTablesSql = `
create schema if not exists mediactl;
create table mediactl.uploads (
  queue text not null, id text not null, fence text, page text, receipt text,
  primary key (queue, id));`;

// Another name than the queue's, so that reading the roots does not read all uploads.
const insertRootSql = "insert into mediactl.uploads (queue, id) values ($1 || ':roots', $2)";
const eventEndsSql =
  'select coalesce(min(id), 0) as oldest, coalesce(max(id), 0) as newest from bullmq.event where queue = $1';
const eventsSql = `select id, event, data from bullmq.event where queue = $1 and id > $2 order by id limit ${maxEvents}`;

export function createPostgresStore(pool: Pool, queue: string, retry: WithRetry): SharedStore {
  /** Runs a statement whose first parameter is the queue. */
  const query = (sql: string, ...values: unknown[]): Promise<QueryResult> =>
    retry(() => pool.query(sql, [queue, ...values]));
  const update = async (set: string, ...values: [id: string, fence: string, text: string | null]) =>
    (await query(`update mediactl.uploads set ${set} where queue = $1 and id = $2 and fence = $3`, ...values))
      .rowCount === 1;
  return {
    now: async () => {
      const { rows } = await retry(() => pool.query('select extract(epoch from clock_timestamp()) as now'));
      return Number(rows[0].now) * 1_000;
    },
    claim: async (id) => {
      const { rows } = await query(
        `insert into mediactl.uploads (queue, id, fence) values ($1, $2, $3)
         on conflict (queue, id) do update set fence = excluded.fence
         returning fence, page, receipt`,
        id,
        randomUUID(),
      );
      const { fence, page, receipt } = rows[0];
      return { fence, entry: page ?? undefined, receipt: receipt ?? undefined };
    },
    writeEntry: (id, fence, entry) => update('page = $4', id, fence, entry ?? null),
    finish: (id, fence, receipt) => update('receipt = $4, page = null, fence = null', id, fence, receipt),
    restoreReceipt: async (id, receipt) =>
      void (await query(
        `insert into mediactl.uploads as kept (queue, id, receipt) values ($1, $2, $3)
         on conflict (queue, id) do update set receipt = excluded.receipt, page = null, fence = null
         where kept.receipt is null`,
        id,
        receipt,
      )),
    findReceipts: async (ids) => {
      const { rows } = await query(
        'select id, receipt from mediactl.uploads where queue = $1 and id = any($2) and receipt is not null',
        ids,
      );
      const found = new Map(rows.map(({ id, receipt }) => [id, receipt]));
      return ids.map((id) => found.get(id));
    },
    remove: async (ids) => void (await query('delete from mediactl.uploads where queue = $1 and id = any($2)', ids)),
    addRoot: async (name) => void (await query(`${insertRootSql} on conflict do nothing`, name)),
    rootNames: async () => {
      const { rows } = await query("select id from mediactl.uploads where queue = $1 || ':roots'");
      return rows.map(({ id }) => id).filter(isRootName);
    },
    readEvents: async (queueName, position) => {
      const readEnds = async () => (await retry(() => pool.query(eventEndsSql, [queueName]))).rows[0];
      if (position === undefined) return { events: [], position: (await readEnds()).newest, hasGap: false };
      const { rows } = await retry(() => pool.query(eventsSql, [queueName, position]));
      return {
        events: rows.map(({ event, data: { jobId = '', ...fields } }) => ({ jobId, event, fields })),
        position: rows.at(-1)?.id ?? position,
        hasGap: rows.length === maxEvents && BigInt((await readEnds()).oldest) > BigInt(position),
      };
    },
  };
}
