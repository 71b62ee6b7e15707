import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Clock } from '../shared/clock.ts';

/** Runs a request, and retries it while the store is down. The request must be idempotent. */
export type WithRetry = <T>(request: () => Promise<T>) => Promise<T>;

/** Event that BullMQ recorded about a job. `fields` are unvalidated data from the store. */
export type JobEvent = { jobId: string; event: string; fields: Record<string, string> };

/** State that earlier attempts left, for the attempt that claims a job. */
export type Claim = Awaited<ReturnType<SharedStore['claim']>>;

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

/**
 * Stores the upload state of a queue's jobs: an entry while a file is being uploaded, then a permanent
 * receipt. Unlike BullMQ's job data, this state is protected by a fencing token, so that an attempt that has lost
 * its lease cannot write. Each write and its fencing check run in one Lua script, which is atomic.
 */
export class SharedStore {
  readonly #redis: Redis;
  readonly #retry: WithRetry;
  /** Hashes by job id: the fencing tokens, the entries and the receipts. */
  readonly #hashes: readonly [fences: string, entries: string, receipts: string];
  /** Set of the names of roots. */
  readonly #roots: string;

  constructor(redis: Redis, queue: string, retry: WithRetry) {
    this.#redis = redis;
    this.#retry = retry;
    const prefix = `mediactl:${queue}`;
    this.#hashes = [`${prefix}:fences`, `${prefix}:entries`, `${prefix}:receipts`];
    this.#roots = `${prefix}:roots`;
  }

  /** Returns how many milliseconds a clock is ahead of the store's. */
  async skewOf(clock: Clock): Promise<number> {
    const before = clock.now();
    const [seconds, micros] = (await this.#retry(() => this.#redis.time())).map(Number) as [number, number];
    return (before + clock.now()) / 2 - (seconds * 1_000 + micros / 1_000);
  }

  async claim(id: string) {
    const fence: string = randomUUID();
    const [entry, receipt] = (await this.#run('claim', id, fence)) as [string?, string?];
    return {
      /** Random fencing token, with which the store rejects writes from attempts with an earlier claim. */
      fence,
      /** Entry, as JSON, to resume from. */
      entry: entry ?? undefined,
      /** Result as JSON, if the file is already uploaded. */
      receipt: receipt ?? undefined,
    };
  }

  /** Writes a job's entry (JSON), or removes it. @returns false if another attempt has claimed the job */
  async writeEntry(id: string, fence: string, entry: string | undefined): Promise<boolean> {
    const written = entry === undefined ? this.#run('remove', id, fence) : this.#run('write', id, fence, entry);
    return (await written) === 1;
  }

  /** Replaces the entry with the receipt, atomically. @returns false if another attempt has claimed the job */
  async finish(id: string, fence: string, receipt: string): Promise<boolean> {
    return (await this.#run('finish', id, fence, receipt)) === 1;
  }

  /** Writes a receipt if there is none, regardless of claims. */
  async restoreReceipt(id: string, receipt: string): Promise<void> {
    await this.#run('restore', id, receipt);
  }

  async findReceipts(ids: readonly string[]): Promise<(string | undefined)[]> {
    if (ids.length === 0) return [];
    const [, , receipts] = this.#hashes;
    return (await this.#retry(() => this.#redis.hmget(receipts, ...ids))).map((each) => each ?? undefined);
  }

  /** Removes all stored state of these uploads by job id: entries, receipts and claims. */
  async remove(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    for (const key of this.#hashes) await this.#retry(() => this.#redis.hdel(key, ...ids));
  }

  /** Records the name of a root, so that every command finds the files below it. */
  async addRoot(name: string): Promise<void> {
    await this.#retry(() => this.#redis.sadd(this.#roots, name));
  }

  /** Reads the names of all roots for which files were queued. */
  async rootNames(): Promise<string[]> {
    return (await this.#retry(() => this.#redis.smembers(this.#roots))).filter(isRootName);
  }

  /** Reads up to 1,000 events of a BullMQ queue after a position, or only the newest position. */
  async readEvents(queueName: string, position: string | undefined) {
    const key = `bull:${queueName}:events`;
    if (position === undefined) {
      const [newest] = await this.#retry(() => this.#redis.xrevrange(key, '+', '-', 'COUNT', 1));
      return { events: [], position: newest?.[0] ?? '0-0', hasGap: false };
    }
    const found = await this.#retry(() => this.#redis.xrange(key, `(${position}`, '+', 'COUNT', maxEvents));
    const readOldest = async () =>
      (await this.#retry(() => this.#redis.xrange(key, '-', '+', 'COUNT', 1)))[0]?.[0] ?? position;
    return {
      events: found.map(([, fields]) => toJobEvent(fields)),
      /** Id of the last event that was read. */
      position: found.at(-1)?.[0] ?? position,
      /** True if events after the previous position may have been deleted before they were read. */
      hasGap: found.length === maxEvents && isLaterEvent(await readOldest(), position),
    };
  }

  #run(script: keyof typeof scripts, ...args: string[]): Promise<unknown> {
    return this.#retry(() => this.#redis.eval(scripts[script], this.#hashes.length, ...this.#hashes, ...args));
  }
}

/** Converts the fields of a Redis stream entry, which are names and values in turn. */
function toJobEvent(list: readonly string[]): JobEvent {
  const all = list.flatMap((name, at) => (at % 2 === 0 ? [[name, list[at + 1] ?? ''] as const] : []));
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
