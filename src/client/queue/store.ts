import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Pool } from 'pg';

/** What an attempt finds of the attempts before it. */
export type Claim = {
  /** Of this claim alone, by chance: whoever claimed before writes nothing from now on. */
  fence: string;
  /** The journal's page, as JSON. */
  page: string | undefined;
  /** What became of the file, as JSON, where it is done. */
  receipt: string | undefined;
};

/**
 * Where the uploads of a queue are kept beside its jobs, which know no fence: a page of the journal
 * while one is under way, a receipt for good once it is done. An attempt that has lost its upload to a
 * later one writes nothing.
 */
export type Store = {
  /** Reads the store's clock, in milliseconds since the epoch. */
  now(): Promise<number>;
  claim(id: string): Promise<Claim>;
  /** @returns false where another attempt has it by now */
  write(id: string, fence: string, page: string | undefined): Promise<boolean>;
  /** Keeps the receipt and forgets the page, both or neither. @returns false as `write` */
  finish(id: string, fence: string, receipt: string): Promise<boolean>;
  /** Keeps a receipt where there is none, whatever was under way. */
  restore(id: string, receipt: string): Promise<void>;
  /** The pages of all uploads under way. */
  pages(): Promise<string[]>;
  receipts(ids: readonly string[]): Promise<(string | undefined)[]>;
  /** Forgets all of them, and whoever is at them. */
  forget(ids: readonly string[]): Promise<void>;
};

const fenced = `if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end\n`;
const scripts = {
  claim: `
    redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
    return {redis.call('HGET', KEYS[2], ARGV[1]), redis.call('HGET', KEYS[3], ARGV[1])}`,
  write: `${fenced}redis.call('HSET', KEYS[2], ARGV[1], ARGV[3]) return 1`,
  remove: `${fenced}redis.call('HDEL', KEYS[2], ARGV[1]) return 1`,
  finish: `${fenced}
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

/** A script of one turn, so that nobody comes between the look and the write. */
export function redisStore(redis: Redis, queue: string): Store {
  const keys = ['fences', 'pages', 'receipts'].map((part) => `mediactl:${queue}:${part}`);
  const [fences = '', pages = '', receipts = ''] = keys;
  const run = (script: keyof typeof scripts, ...given: string[]) =>
    redis.eval(scripts[script], keys.length, ...keys, ...given);
  return {
    now: async () => {
      const [seconds, micros] = (await redis.time()).map(Number) as [number, number];
      return seconds * 1_000 + micros / 1_000;
    },
    claim: async (id) => {
      const fence = randomUUID();
      const [page, receipt] = (await run('claim', id, fence)) as [string?, string?];
      return { fence, page: page ?? undefined, receipt: receipt ?? undefined };
    },
    write: async (id, fence, page) =>
      (await (page === undefined ? run('remove', id, fence) : run('write', id, fence, page))) === 1,
    finish: async (id, fence, receipt) => (await run('finish', id, fence, receipt)) === 1,
    restore: async (id, receipt) => void (await run('restore', id, receipt)),
    pages: () => redis.hvals(pages),
    receipts: async (ids) =>
      ids.length === 0
        ? []
        : (await redis.hmget(receipts, ...ids)).map((each) => each ?? undefined),
    forget: async (ids) => {
      for (const key of [fences, pages, receipts])
        if (ids.length > 0) await redis.hdel(key, ...ids);
    },
  };
}

/** To be made by one at a time: `if not exists` does not see to that. */
export const postgresTables = `
create schema if not exists mediactl;
create table mediactl.uploads (
  queue text not null, id text not null, fence text, page text, receipt text,
  primary key (queue, id));`;

export function postgresStore(pool: Pool, queue: string): Store {
  const change = async (set: string, id: string, fence: string, text: string | null) =>
    (
      await pool.query(
        `update mediactl.uploads set ${set} where queue = $1 and id = $2 and fence = $3`,
        [queue, id, fence, text],
      )
    ).rowCount === 1;
  return {
    now: async () => {
      const { rows } = await pool.query('select extract(epoch from clock_timestamp()) as now');
      return Number(rows[0].now) * 1_000;
    },
    claim: async (id) => {
      const { rows } = await pool.query(
        `insert into mediactl.uploads (queue, id, fence) values ($1, $2, $3)
         on conflict (queue, id) do update set fence = excluded.fence
         returning fence, page, receipt`,
        [queue, id, randomUUID()],
      );
      const { fence, page, receipt } = rows[0];
      return { fence, page: page ?? undefined, receipt: receipt ?? undefined };
    },
    write: (id, fence, page) => change('page = $4', id, fence, page ?? null),
    finish: (id, fence, receipt) =>
      change('receipt = $4, page = null, fence = null', id, fence, receipt),
    restore: async (id, receipt) =>
      void (await pool.query(
        `insert into mediactl.uploads as kept (queue, id, receipt) values ($1, $2, $3)
         on conflict (queue, id) do update set receipt = excluded.receipt, page = null, fence = null
         where kept.receipt is null`,
        [queue, id, receipt],
      )),
    pages: async () => {
      const { rows } = await pool.query(
        'select page from mediactl.uploads where queue = $1 and page is not null',
        [queue],
      );
      return rows.map(({ page }) => page);
    },
    receipts: async (ids) => {
      const { rows } = await pool.query(
        'select id, receipt from mediactl.uploads where queue = $1 and id = any($2) and receipt is not null',
        [queue, ids],
      );
      const found = new Map(rows.map(({ id, receipt }) => [id, receipt]));
      return ids.map((id) => found.get(id));
    },
    forget: async (ids) =>
      void (await pool.query('delete from mediactl.uploads where queue = $1 and id = any($2)', [
        queue,
        ids,
      ])),
  };
}
