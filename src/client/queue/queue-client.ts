import type { Job, Processor, Queue, QueueEvents, Worker, WorkerOptions } from 'bullmq';
import type { Clock } from '../../contract/clock.ts';
import type { QueueAddress } from './queue-address.ts';
import type { TaskResult, UploadTask } from './task.ts';
import type { UploadStore } from './upload-store.ts';

export type QueueJob = Job<UploadTask, TaskResult>;

/** Server version of a store, and whether its writes are durable. */
export type StoreInfo = {
  /** Name and version, such as `redis 7.0.15`. */
  server: string;
  /** Warning about possible data loss, if any. */
  durabilityWarning: string | undefined;
};

/** Connection to an upload queue that several machines share, and to the upload state stored with the queue. */
export type QueueClient = {
  address: QueueAddress;
  storeInfo: StoreInfo;
  queue: Queue<UploadTask, TaskResult>;
  store: UploadStore;
  /** Creates a BullMQ worker. Its `run()` starts to process jobs. @throws the abort reason of the signal */
  worker(
    perform: Processor<UploadTask, TaskResult>,
    options: Omit<WorkerOptions, 'connection' | 'autorun'>,
  ): Promise<Worker<UploadTask, TaskResult>>;
  /** True while the store is known to be down. */
  readonly isDisconnected: boolean;
  /** Aborts with a MediactlError when the store permanently rejects BullMQ, such as for missing permissions. */
  readonly fatalSignal: AbortSignal;
  /**
   * Checks write access by writing, reading and removing sample data.
   *
   * @throws MediactlError `queue_full` (exit 10) if the store rejects writes; as `openQueueClient`
   */
  checkWriteAccess(): Promise<void>;
  /** Registers a listener for reconnects. `isOther` is true after a failover; the new server might lack recent writes. */
  onReconnect(listener: (isOther: Promise<boolean>) => void): void;
  /** Runs a request, and retries it while the store is down. The request must be idempotent. */
  withRetry<T>(request: () => Promise<T>): Promise<T>;
  /** Creates a listener for job events. Its `run()` starts to receive them. @throws the abort reason of the signal */
  events(): Promise<QueueEvents>;
  /** Creates the error that a job processor throws after requeueing the job, so that the job does not count as failed. */
  requeueSignal(): Error;
  /** Creates the error that a job processor throws to fail a job without a retry. */
  permanentFailure(message: string): Error;
  close(): Promise<void>;
};

/** Dependencies of a queue connection. */
export type QueueClientDeps = {
  clock: Clock;
  signal: AbortSignal;
  /** True to check write access on opening. Commands that only read need no write permission. */
  checksWriteAccess: boolean;
  /** Called with the cause when the store goes down, and without a cause when it is up again. */
  onConnectionChange(cause?: unknown): void;
  /** Called once for each kind of background error in BullMQ. */
  onEngineError?(words: string): void;
};
