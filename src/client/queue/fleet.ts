import type { Job, Processor, Queue, QueueEvents, Worker, WorkerOptions } from 'bullmq';
import type { Clock } from '../clock.ts';
import type { QueueAddress } from './queue-address.ts';
import type { Store } from './store.ts';
import type { TaskResult, UploadTask } from './task.ts';

export type UploadJobOfQueue = Job<UploadTask, TaskResult>;

/** Server version of a store, and whether its writes are durable. */
export type Health = {
  /** Name and version, such as `redis 7.0.15`. */
  server: string;
  /** Warning about possible data loss, if any. */
  doubt: string | undefined;
};

/** Connection to a queue of uploads that several machines share, and to the upload state stored with it. */
export type Fleet = {
  address: QueueAddress;
  health: Health;
  queue: Queue<UploadTask, TaskResult>;
  store: Store;
  /** Creates a BullMQ worker; it processes jobs after `run()`. @throws the abort reason of the signal */
  worker(
    perform: Processor<UploadTask, TaskResult>,
    options: Omit<WorkerOptions, 'connection' | 'autorun'>,
  ): Promise<Worker<UploadTask, TaskResult>>;
  /** True while the store is known to be down. */
  readonly isAway: boolean;
  /** Aborts with a MediactlError when the store permanently rejects the engine, such as for missing permissions. */
  readonly refused: AbortSignal;
  /** Checks write access: writes, reads and removes sample data. @throws MediactlError as `openQueueClient`, `queue_full` (10) */
  trial(): Promise<void>;
  /** Registers a listener for reconnects. `isOther` is true after a failover: the new server may lack recent writes. */
  onReturn(hear: (isOther: Promise<boolean>) => void): void;
  /** Runs a request, and retries it while the store is down. It must be idempotent. */
  patiently<T>(ask: () => Promise<T>): Promise<T>;
  /** Creates a listener for job events; it receives them after `run()`. @throws the abort reason of the signal */
  events(): Promise<QueueEvents>;
  /** Creates the error that a job processor throws after it requeued the job, so that it does not count as failed. */
  handedBack(): Error;
  /** Creates the error that a job processor throws to fail a job without a retry. */
  unrecoverable(message: string): Error;
  close(): Promise<void>;
};

/** Dependencies of a queue connection. */
export type FleetTools = {
  clock: Clock;
  signal: AbortSignal;
  /** Check write access on opening. False for commands that only read, which need no such permission. */
  writes: boolean;
  /** Called with the cause when the store goes down, and without one when it is up again. */
  onAway(cause?: unknown): void;
  /** Called for background errors of the engine, once per kind. */
  onTrouble?(words: string): void;
};
