import { setMaxListeners } from 'node:events';
import type { Job, Processor, Queue, QueueBase, WorkerOptions } from 'bullmq';
import type { Redis } from 'ioredis';
import { CodedError } from '../client/errors.ts';
import type { Clock } from '../shared/clock.ts';
import { backoff, retryUntil, withGrace, withTimeout } from '../shared/retry.ts';
import type { QueueAddress } from './queue-address.ts';
import { assertNoEviction, fieldOf, type ServerInfo } from './server-info.ts';
import { SharedStore, type WithRetry } from './shared-store.ts';
import { classifyOpenError, classifyStoreError, isFull, isOutage, isRejectedWrite } from './store-errors.ts';
import type { TaskResult, UploadTask } from './task.ts';

export type QueueJob = Job<UploadTask, TaskResult>;
/** BullMQ queue with the files below one named root, or, without a name, with all others. */
export type RootQueue = Queue<UploadTask, TaskResult>;

/** Returns the root of a BullMQ queue, of which `QueueClient` makes the name. */
export const rootOf = (queueName = ''): string => queueName.split('@')[1] ?? '';

export type QueueClientDeps = {
  clock: Clock;
  signal: AbortSignal;
  /** `read` needs no write permission; `write` fails if the store is full; `work` waits until that accepts writes. */
  use: 'read' | 'write' | 'work';
  /** Called with the cause when the store goes down, and without a cause when it is up again. */
  onConnectionChange(cause?: unknown): void;
  /** Called once for each kind of background error in BullMQ. */
  onEngineError?(words: string): void;
};

const maxReportedErrors = 10;
const closeTimeoutMs = 3_000;
const outageBackoff = { minMs: 200, maxMs: 2_000 };

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

/** Connection to an upload queue that several machines share, and to the upload state stored with the queue. */
export class QueueClient {
  readonly address: QueueAddress;
  readonly serverInfo: ServerInfo;
  readonly store: SharedStore;
  /** Called after each reconnect. `isOther` is true after a failover; the new server might lack recent writes. */
  onReconnect: (isOther: Promise<boolean>) => void = () => {};
  /** Aborts with a CodedError when the store permanently rejects BullMQ, such as for missing permissions. */
  readonly fatal = new AbortController();
  /** False once the client is closed, after which no connection of BullMQ reconnects. */
  isOpen = true;
  readonly #deps: QueueClientDeps;
  readonly #redis: Redis;
  readonly #closing = new AbortController();
  readonly #signal: AbortSignal;
  readonly #objects = new Set<QueueBase>();
  readonly #queues = new Map<string, Promise<RootQueue>>();
  /** Messages already reported, with job ids replaced so that each kind of error is reported once. */
  readonly #reported = new Set<string>();
  #runId: string | undefined;
  #outageCause: unknown;
  /** Pending during an outage. */
  #recovery: Promise<void> | undefined;

  constructor(address: QueueAddress, deps: QueueClientDeps, redis: Redis, serverInfo: ServerInfo) {
    this.address = address;
    this.serverInfo = serverInfo;
    this.#deps = deps;
    this.#redis = redis;
    this.#signal = AbortSignal.any([deps.signal, this.#closing.signal]);
    setMaxListeners(0, this.#signal); // one listener per request
    this.store = new SharedStore(redis, address.name, this.withRetry);
  }

  /** Opens the queue. @throws the store's error if it denies write access, unless it is an outage, which is retried */
  async open(): Promise<void> {
    if (this.#deps.use !== 'read')
      await this.#tryWriting().catch((error) => {
        if (!isOutage(error)) throw error;
      });
    this.onConnected();
    await this.queueOf('');
  }

  /** Returns the queue of a root, which workers that have this root read. The name '' stands for files without a root. */
  queueOf(root = ''): Promise<RootQueue> {
    const known = this.#queues.get(root);
    if (known) return known;
    const connection = this.#redis;
    const opened = import('./engine.lazy.ts').then(({ Queue }) =>
      this.#start(() => new Queue<UploadTask, TaskResult>(this.#nameOf(root), { connection })),
    );
    this.#queues.set(root, opened);
    opened.catch(() => this.#queues.delete(root));
    return opened;
  }

  /** Returns the queues of all roots for which files were queued, that of files without a root first. */
  async queues(): Promise<RootQueue[]> {
    const names = await this.store.rootNames();
    return Promise.all(['', ...names.sort()].map((root) => this.queueOf(root)));
  }

  /** Creates a BullMQ worker for the files of a root. @throws the abort reason of the signal */
  async worker(
    root: string,
    perform: Processor<UploadTask, TaskResult>,
    options: Omit<WorkerOptions, 'connection' | 'autorun'>,
  ) {
    const { PullWorker } = await import('./engine.lazy.ts');
    const all = { ...options, connection: this.#redis, autorun: false };
    const worker = await this.#start(() => new PullWorker<UploadTask, TaskResult>(this.#nameOf(root), perform, all));
    worker.once('closed', () => this.#objects.delete(worker));
    return worker;
  }

  #nameOf(root: string): string {
    const { name } = this.address;
    return root === '' ? name : `${name}@${root}`;
  }

  /** Finds a job by its full id. */
  async findJob(id: string): Promise<QueueJob | undefined> {
    const found = await Promise.all((await this.queues()).map((queue) => this.withRetry(() => queue.getJob(id))));
    return found.find((job) => job !== undefined);
  }

  /** Returns true if the queue of any root is paused for all workers. */
  async isPaused(): Promise<boolean> {
    const paused = (await this.queues()).map((queue) => this.withRetry(() => queue.isPaused()));
    return (await Promise.all(paused)).includes(true);
  }

  /** Pauses or resumes the queues of all roots. */
  async setPaused(paused: boolean): Promise<void> {
    for (const queue of await this.queues()) await this.withRetry(() => (paused ? queue.pause() : queue.resume()));
  }

  /** True while the store is known to be down. */
  get isDisconnected(): boolean {
    return this.#recovery !== undefined || this.#redis.status !== 'ready';
  }

  /** Why the store is down, as far as it is known. */
  get outage(): CodedError | undefined {
    const cause = this.#outageCause ?? new Error('it does not respond');
    return this.isDisconnected ? classifyOpenError(this.address, cause) : undefined;
  }

  readonly withRetry: WithRetry = (request) => this.#withGrace(this.retryOutages(request));

  /** @throws CodedError `queue_unreachable` (exit 10) if the store rejects writes; as `openQueueClient` */
  async checkWriteAccess(): Promise<void> {
    await this.#tryWriting().catch((error) => {
      throw classifyOpenError(this.address, error);
    });
  }

  /** Writes, reads and removes sample data. Rejects while the store is down. */
  async #tryWriting(): Promise<void> {
    const { name } = this.address;
    const keys = [`bull:${name}:trial`, `mediactl:${name}:trial`];
    await this.#redis.eval(writeAccessScript, keys.length, ...keys);
  }

  /** @throws as `assertNoEviction` */
  async assertSettings(): Promise<void> {
    assertNoEviction(await this.withRetry(() => this.#redis.info('memory')), this.address);
  }

  /** Closes all connections within a timeout, so that a store that is down does not keep the process alive. */
  async close(): Promise<void> {
    const { clock } = this.#deps;
    this.#closing.abort();
    const closed = Promise.all([...this.#objects].map((each) => each.close().catch(() => {})));
    await withTimeout(closeTimeoutMs, () => closed, { clock }).catch(() => {});
    for (const each of this.#objects) each.disconnect().catch(() => {}); // the connection is dead already
    this.disconnect();
  }

  /** Ends the connection at once. */
  disconnect(): void {
    this.isOpen = false;
    this.#redis.disconnect();
  }

  /** Reports that the store is up, and whether it is another server than before. */
  onConnected(): void {
    if (this.#recovery) return; // it reports that itself
    this.#deps.onConnectionChange();
    const isOther = this.#redis.info('server').then((info) => {
      const previous = this.#runId;
      const current = fieldOf(info, 'run_id'); // of the process: another one after a failover or restart
      this.#runId = current;
      return previous !== undefined && current !== previous;
    });
    isOther.catch(() => {}); // the store is down again
    this.onReconnect(isOther);
  }

  /** Reports that the store is down, or rejects writes. */
  onDisconnected(cause: unknown): void {
    this.#outageCause = cause;
    this.#deps.onConnectionChange(cause);
  }

  #isRetryable(error: unknown): boolean {
    return isOutage(error) && !(this.#deps.use === 'write' && isFull(error));
  }

  /** Runs a request, and retries it after each outage. After an abort, requests that hand jobs back get one attempt. */
  async retryOutages<T>(request: () => Promise<T>): Promise<T> {
    if (this.#signal.aborted) return request();
    const run = async () => {
      await this.#recovery;
      return request();
    };
    const { clock } = this.#deps;
    return retryUntil(this.#signal, run, {
      clock,
      delayAfter: async (error, attempt) => {
        if (!this.#isRetryable(error)) return undefined;
        await this.recover();
        return backoff(attempt, outageBackoff, clock);
      },
    });
  }

  /** Waits until the store is up and, if this client writes, accepts writes. One probe with backoff serves all callers, like a circuit breaker. */
  recover(): Promise<void> {
    const { clock, use } = this.#deps;
    const probe = async () => void (await (use === 'read' ? this.#redis.ping() : this.#tryWriting()));
    this.#recovery ??= retryUntil(this.#signal, probe, {
      clock,
      delayAfter: (error, attempt) => {
        if (!this.#isRetryable(error)) return undefined;
        this.onDisconnected(error);
        return backoff(attempt, outageBackoff, clock);
      },
    })
      .catch(() => this.#signal.throwIfAborted()) // the store is up, and the retried request reports the error
      .then(() => {
        this.#recovery = undefined;
        this.onConnected();
      });
    this.#recovery.catch(() => {}); // aborted: pending requests reject with the abort reason
    return this.#recovery;
  }

  /** Awaits a request, after an abort for a few seconds more. @throws a CodedError for known errors of the store */
  async #withGrace<T>(request: Promise<T>): Promise<T> {
    try {
      return await withGrace(request, { clock: this.#deps.clock, signal: this.#signal });
    } catch (error) {
      throw classifyStoreError(this.address, error) ?? error;
    }
  }

  /**
   * Creates a BullMQ queue or worker, and recreates it until the store responds. In BullMQ 6.7, an
   * object whose first connection fails never recovers and busy-loops.
   */
  #start<T extends QueueBase>(create: () => T): Promise<T> {
    return this.withRetry(async () => {
      const created = create();
      this.#objects.add(created);
      created.on('error', (error) => this.#onEngineError(error));
      try {
        await created.waitUntilReady();
      } catch (error) {
        this.#objects.delete(created);
        // Closes the connections that this object opened itself, which are dead already, without the shared connection.
        await created
          .getBackend()
          .close(true)
          .catch(() => {});
        throw error;
      }
      return created;
    });
  }

  /** Handles a background error of BullMQ. Permanent failures abort `fatal`; unknown errors are reported once per kind. */
  #onEngineError(error: unknown): void {
    const { signal, onEngineError, use } = this.#deps;
    if (error instanceof CodedError || signal.aborted) return;
    if (/^(?:could not renew|Missing) lock for job/.test((error as Error).message)) return; // the lease reports it
    const failure = classifyStoreError(this.address, error);
    const { message } = error as Error;
    const kind = message.replace(/\S*\d\S*/g, '#'); // job ids
    // A command that only reads needs no store that accepts writes. A lost connection is watched elsewhere.
    if (isRejectedWrite(error) && use !== 'read') void this.recover();
    else if (isOutage(error)) return;
    else if (failure) this.fatal.abort(failure);
    else if (!this.#reported.has(kind) && this.#reported.size < maxReportedErrors) {
      this.#reported.add(kind);
      onEngineError?.(`queue ${this.address.label}: ${message}`);
    }
  }
}
