import { setMaxListeners } from 'node:events';
import type { Job, Processor, Queue, QueueBase, WorkerOptions } from 'bullmq';
import type { Clock } from '../../contract/clock.ts';
import { backoff, retryUntil, withGrace, withTimeout } from '../../contract/retry.ts';
import { MediactlError } from '../errors.ts';
import type { QueueAddress } from './queue-address.ts';
import type { SharedStore, WithRetry } from './shared-store.ts';
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
  /** True to check write access on opening. Commands that only read need no write permission. */
  checksWriteAccess: boolean;
  /** True to fail if the store is full, instead of waiting until it accepts writes. */
  failsIfFull?: boolean;
  /** Called with the cause when the store goes down, and without a cause when it is up again. */
  onConnectionChange(cause?: unknown): void;
  /** Called once for each kind of background error in BullMQ. */
  onEngineError?(words: string): void;
};

/** Connection to Redis or PostgreSQL: the part of a queue client in which they differ. */
export type StoreDriver = {
  storeInfo: {
    /** Name and version, such as `redis 7.0.15`. */
    server: string;
    /** Warning about possible data loss, if any. */
    durabilityWarning?: string | undefined;
  };
  /** Connection of BullMQ's objects, which BullMQ types for Redis only. */
  connection: never;
  /** BullMQ's backend, unless the store is Redis. */
  backend?: never;
  /** PostgreSQL role, for error messages. */
  role?: string | undefined;
  isConnected(): boolean;
  createSharedStore(retry: WithRetry): SharedStore;
  /** Writes, reads and removes sample data. Rejects while the store is down. */
  checkWriteAccess(): Promise<unknown>;
  /** Rejects while the store is down. */
  ping(): Promise<unknown>;
  /** Returns an id of the server process, which is another one after a failover or restart. */
  serverId(): Promise<string | undefined>;
  /** Checks that the server keeps all data. @throws MediactlError `queue_unusable` (exit 2) if it may evict keys */
  assertSettings?(): Promise<void>;
  /** Changes the number of connections that workers keep for themselves. */
  reserveConnections?(change: number): void;
  end(): Promise<void>;
};

const maxReportedErrors = 10;
const closeTimeoutMs = 3_000;
const outageBackoff = { minMs: 200, maxMs: 2_000 };

/** Connection to an upload queue that several machines share, and to the upload state stored with the queue. */
export class QueueClient {
  readonly address: QueueAddress;
  readonly storeInfo: StoreDriver['storeInfo'];
  readonly store: SharedStore;
  /** Called after each reconnect. `isOther` is true after a failover; the new server might lack recent writes. */
  onReconnect: (isOther: Promise<boolean>) => void = () => {};
  /** Aborts with a MediactlError when the store permanently rejects BullMQ, such as for missing permissions. */
  readonly fatal = new AbortController();
  readonly #deps: QueueClientDeps;
  readonly #driver: StoreDriver;
  readonly #closing = new AbortController();
  readonly #signal: AbortSignal;
  readonly #objects = new Set<QueueBase>();
  /** Maps root names to their queues. */
  readonly #queues = new Map<string, Promise<RootQueue>>();
  /** Messages already reported, with job ids replaced so that each kind of error is reported once. */
  readonly #reported = new Set<string>();
  #serverId: string | undefined;
  #outageCause: unknown;
  /** Pending during an outage. */
  #recovery: Promise<void> | undefined;

  constructor(address: QueueAddress, deps: QueueClientDeps, driver: StoreDriver) {
    this.address = address;
    this.storeInfo = driver.storeInfo;
    this.#deps = deps;
    this.#driver = driver;
    this.#signal = AbortSignal.any([deps.signal, this.#closing.signal]);
    setMaxListeners(0, this.#signal); // one listener per request
    this.store = driver.createSharedStore(this.withRetry);
  }

  /** Opens the queue. @throws the store's error if it denies write access, unless it is an outage, which is retried */
  async open(): Promise<void> {
    if (this.#deps.checksWriteAccess)
      await this.#driver.checkWriteAccess().catch((error) => {
        if (!isOutage(error)) throw error;
      });
    this.onConnected();
    await this.queueOf('');
  }

  /** Returns the queue of a root, which workers that have this root read. The name '' stands for files without a root. */
  queueOf(root = ''): Promise<RootQueue> {
    const known = this.#queues.get(root);
    if (known) return known;
    const { connection, backend } = this.#driver;
    const opened = import('./engine.lazy.ts').then(({ Queue }) =>
      this.#start(() => new Queue<UploadTask, TaskResult>(this.#nameOf(root), { connection }, backend)),
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
    const { connection, backend } = this.#driver;
    const all = { ...options, connection, autorun: false };
    const worker = await this.#start(
      () => new PullWorker<UploadTask, TaskResult>(this.#nameOf(root), perform, all, backend),
    );
    this.#driver.reserveConnections?.(1);
    worker.once('closed', () => {
      this.#objects.delete(worker);
      this.#driver.reserveConnections?.(-1);
    });
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
    return this.#recovery !== undefined || !this.#driver.isConnected();
  }

  /** Why the store is down, as far as it is known. */
  get outage(): MediactlError | undefined {
    const cause = this.#outageCause ?? new Error('it does not respond');
    return this.isDisconnected ? this.#classify(cause) : undefined;
  }

  #classify = (error: unknown) => classifyOpenError(this.address, error, this.#driver.role);

  readonly withRetry: WithRetry = (request) => this.#withGrace(this.retryOutages(request));

  /** @throws MediactlError `queue_full` or `queue_read_only` (exit 10) if the store rejects writes; as `openQueueClient` */
  async checkWriteAccess(): Promise<void> {
    await this.#driver.checkWriteAccess().catch((error) => {
      throw this.#classify(error);
    });
  }

  /** @throws as `StoreDriver.assertSettings` */
  async assertSettings(): Promise<void> {
    await this.withRetry(async () => this.#driver.assertSettings?.());
  }

  /** Closes all connections within a timeout, so that a store that is down does not keep the process alive. */
  async close(): Promise<void> {
    const { clock } = this.#deps;
    this.#closing.abort();
    const closed = Promise.all([...this.#objects].map((each) => each.close().catch(() => {})));
    await withTimeout(closeTimeoutMs, () => closed, { clock }).catch(() => {});
    for (const each of this.#objects) each.disconnect().catch(() => {}); // the connection is dead already
    await withTimeout(closeTimeoutMs, () => this.#driver.end(), { clock }).catch(() => {});
  }

  /** Reports that the store is up, and whether it is another server than before. */
  onConnected(): void {
    if (this.#recovery) return; // it reports that itself
    this.#deps.onConnectionChange();
    const isOther = this.#driver.serverId().then((current) => {
      const previous = this.#serverId;
      this.#serverId = current;
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
    return isOutage(error) && !(this.#deps.failsIfFull && isFull(error));
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
    const { clock, checksWriteAccess } = this.#deps;
    const probe = checksWriteAccess ? 'checkWriteAccess' : 'ping';
    this.#recovery ??= retryUntil(this.#signal, () => this.#driver[probe](), {
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

  /** Awaits a request, after an abort for a few seconds more. @throws a MediactlError for known errors of the store */
  async #withGrace<T>(request: Promise<T>): Promise<T> {
    try {
      return await withGrace(request, { clock: this.#deps.clock, signal: this.#signal });
    } catch (error) {
      throw classifyStoreError(this.address, error, this.#driver.role) ?? error;
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
    const { signal, onEngineError, checksWriteAccess } = this.#deps;
    if (error instanceof MediactlError || signal.aborted) return;
    if (/^(?:could not renew|Missing) lock for job/.test((error as Error).message)) return; // the lease reports it
    const failure = classifyStoreError(this.address, error, this.#driver.role);
    const { message } = error as Error;
    const kind = message.replace(/\S*\d\S*/g, '#'); // job ids
    // A command that only reads needs no store that accepts writes. A lost connection is watched elsewhere.
    if (isRejectedWrite(error) && checksWriteAccess) void this.recover();
    else if (isOutage(error)) return;
    else if (failure) this.fatal.abort(failure);
    else if (!this.#reported.has(kind) && this.#reported.size < maxReportedErrors) {
      this.#reported.add(kind);
      onEngineError?.(`queue ${this.address.label}: ${message}`);
    }
  }
}
