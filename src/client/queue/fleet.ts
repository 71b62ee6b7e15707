import type { Job, Processor, Queue, QueueEvents, Worker, WorkerOptions } from 'bullmq';
import type { Clock } from '../clock.ts';
import type { QueueAddress } from './queue-address.ts';
import type { Store } from './store.ts';
import type { TaskResult, UploadTask } from './task.ts';

export type UploadJobOfQueue = Job<UploadTask, TaskResult>;

/** What a store is, and what it does with what it is given. */
export type Health = {
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
  /** Takes jobs once it is told to `run()`. @throws what the signal aborts with */
  worker(
    perform: Processor<UploadTask, TaskResult>,
    options: Omit<WorkerOptions, 'connection' | 'autorun'>,
  ): Promise<Worker<UploadTask, TaskResult>>;
  /** The store cannot be used now, as far as is known. */
  readonly isAway: boolean;
  /** Aborts with a MediactlError once the store refuses what the engine needs, for good. */
  readonly refused: AbortSignal;
  /** Writes, reads and removes what a worker needs. @throws MediactlError as `openFleet`, `queue_full` (10) */
  trial(): Promise<void>;
  /** Hears that the store is back, and whether as another server: a replica may be behind. */
  onReturn(hear: (isOther: Promise<boolean>) => void): void;
  /** Asks the queue, and waits out a store that is away. What it is asked may be asked twice. */
  patiently<T>(ask: () => Promise<T>): Promise<T>;
  /** What happens to jobs, from `run()` on. @throws what the signal aborts with */
  events(): Promise<QueueEvents>;
  /** Of a processor: the job is not failed, but back in the queue. */
  handedBack(): Error;
  /** Of a processor: the job is not tried again. */
  unrecoverable(message: string): Error;
  close(): Promise<void>;
};

/** What a store is opened with. */
export type FleetTools = {
  clock: Clock;
  signal: AbortSignal;
  /** Opening tries a write; what only reads needs no such right. */
  writes: boolean;
  /** Hears why the store cannot be used any more; without a cause, that it can again. */
  onAway(cause?: unknown): void;
  /** Hears of an error that the engine met in the background, once a kind. */
  onTrouble?(words: string): void;
};
