import type { Job, Processor, Queue, QueueEvents, Worker, WorkerOptions } from 'bullmq';
import type { Clock } from '../clock.ts';
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

/** Connection to a queue of uploads that several machines share, and to the upload state stored with it. */
export type QueueClient = {
  address: QueueAddress;
  storeInfo: StoreInfo;
  queue: Queue<UploadTask, TaskResult>;
  store: UploadStore;
  /** Creates a BullMQ worker; it processes jobs after `run()`. @throws the abort reason of the signal */
  worker(
    perform: Processor<UploadTask, TaskResult>,
    options: Omit<WorkerOptions, 'connection' | 'autorun'>,
  ): Promise<Worker<UploadTask, TaskResult>>;
  /** True while the store is known to be down. */
  readonly isDisconnected: boolean;
  /** Aborts with a MediactlError when the store permanently rejects the engine, such as for missing permissions. */
  readonly fatalSignal: AbortSignal;
  /** Checks write access: writes, reads and removes sample data. @throws MediactlError as `openQueueClient`, `queue_full` (10) */
  checkWriteAccess(): Promise<void>;
  /** Registers a listener for reconnects. `isOther` is true after a failover: the new server may lack recent writes. */
  onReconnect(listener: (isOther: Promise<boolean>) => void): void;
  /** Runs a request, and retries it while the store is down. It must be idempotent. */
  withRetry<T>(ask: () => Promise<T>): Promise<T>;
  /** Creates a listener for job events; it receives them after `run()`. @throws the abort reason of the signal */
  events(): Promise<QueueEvents>;
  /** Creates the error that a job processor throws after it requeued the job, so that it does not count as failed. */
  requeueSignal(): Error;
  /** Creates the error that a job processor throws to fail a job without a retry. */
  permanentFailure(message: string): Error;
  close(): Promise<void>;
};

/** Dependencies of a queue connection. */
export type QueueClientDeps = {
  clock: Clock;
  signal: AbortSignal;
  /** Check write access on opening. False for commands that only read, which need no such permission. */
  checksWriteAccess: boolean;
  /** Called with the cause when the store goes down, and without one when it is up again. */
  onConnectionChange(cause?: unknown): void;
  /** Called for background errors of the engine, once per kind. */
  onEngineError?(words: string): void;
};
