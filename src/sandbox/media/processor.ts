import { mkdir, rename, rm } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { backoff, retryUntil } from '../../shared/retry.ts';
import type { Credits } from '../credits.ts';
import type { Files } from '../files.ts';
import type { AssetRow, Assets } from '../store/assets.ts';
import { DiskFullError, isStorageError } from './ffmpeg/storage-errors.ts';
import { processSource } from './process-source.ts';
import { failedOutcome, type ProcessingJobOptions, type ProcessingOutcome } from './processing-job.ts';

export type ProcessorOptions = Pick<ProcessingJobOptions, 'inspector' | 'tools' | 'clock' | 'log'> & {
  files: Files;
  assets: Assets;
  credits: Credits;
  timestamp(): string;
};

/** Job queue that processes uploaded sources in child processes, with one job per CPU core at a time. */
export class Processor {
  readonly #options: ProcessorOptions;
  readonly #queue: string[] = [];
  readonly #running = new Set<Promise<void>>();
  readonly #closing = new AbortController();

  constructor(options: ProcessorOptions) {
    this.#options = options;
  }

  enqueue(assetUid: string): void {
    this.#queue.push(assetUid);
    this.#startJobs();
  }

  /** Requeues the assets whose processing was interrupted by a shutdown. */
  resume(): void {
    for (const uid of this.#options.assets.findInterrupted()) this.enqueue(uid);
  }

  /** Aborts the running jobs, which are repeated when the sandbox starts again. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('the sandbox is shutting down'));
    await Promise.all(this.#running);
  }

  #startJobs(): void {
    while (!this.#closing.signal.aborted && this.#running.size < availableParallelism()) {
      const uid = this.#queue.shift();
      if (uid === undefined) return;
      const job = this.#process(uid)
        .catch((error: Error) => {
          // The asset keeps its status, so processing is retried at the next start.
          if (!this.#closing.signal.aborted)
            this.#options.log(`asset ${uid} not processed: ${error.stack ?? error.message}`);
        })
        .finally(() => {
          this.#running.delete(job);
          this.#startJobs();
        });
      this.#running.add(job);
    }
  }

  async #process(uid: string): Promise<void> {
    const { assets, log, timestamp } = this.#options;
    const asset = await this.#retryOnStorageError(uid, () => {
      assets.setStatus(uid, 'processing', timestamp());
      return assets.find(uid);
    });
    if (!asset) return; // in the trash
    let areSubtitlesPaid = false; // a job that is repeated pays once
    const drawSubtitleCredits = (trackCount: number) => {
      areSubtitlesPaid ||= this.#options.credits.tryDraw(trackCount);
      return areSubtitlesPaid;
    };
    const runJob = () => this.#runJob(asset, drawSubtitleCredits);
    const outcome = await this.#retryOnStorageError(uid, runJob).catch((error: Error) => {
      if (error instanceof DiskFullError) return failedOutcome(error.message);
      throw error;
    });
    await this.#retryOnStorageError(uid, () => {
      if (outcome.outcome === 'failed') assets.setStatus(uid, 'failed', timestamp(), outcome.reason);
      else assets.setProcessed(uid, outcome.result, timestamp());
    });
    log(`asset ${uid} ${outcome.outcome}`);
  }

  /**
   * Retries work with exponential backoff while the disk or the database fails.
   * @throws Error for any other failure, for reports of a full disk that has free space, or when the sandbox closes
   */
  #retryOnStorageError<T>(uid: string, work: () => T | Promise<T>): Promise<T> {
    const { clock, files, log } = this.#options;
    let fullDiskReports = 0;
    return retryUntil(this.#closing.signal, work, {
      clock,
      delayAfter: async (error, attempt) => {
        if (!isStorageError(error as Error)) return undefined;
        const hasRoom = error instanceof DiskFullError && (await files.freeBytes()) > ampleFreeBytes;
        if (hasRoom && fullDiskReports++ >= maxFullDiskRetries) return undefined;
        const delayMs = backoff(attempt, { minMs: 250, maxMs: 10_000 });
        log(
          `asset ${uid} waiting for storage, retrying in ${(delayMs / 1000).toFixed(1)} s: ${(error as Error).message}`,
        );
        return delayMs;
      },
    });
  }

  /** Processes an asset in a new work folder, so that a left-over process of a killed sandbox cannot interfere. */
  async #runJob(
    { uid, filename, type }: AssetRow,
    drawSubtitleCredits: ProcessingJobOptions['drawSubtitleCredits'],
  ): Promise<ProcessingOutcome> {
    const { files, log } = this.#options;
    const { signal } = this.#closing;
    const workDir = files.work(uid);
    await rm(workDir, removeOptions);
    await mkdir(workDir, { mode: 0o700 });
    try {
      const outcome = await processSource({
        ...this.#options,
        drawSubtitleCredits,
        workDir,
        filename,
        declaredType: type,
        signal,
        sourcePath: files.source(uid),
        log: (line) => log(`asset ${uid} ${line}`),
      });
      if (outcome.outcome === 'failed') return outcome;
      await publish(join(workDir, 'hls'), files.hls(uid));
      await publish(join(workDir, 'extras'), files.derivedFolder(uid));
      return outcome;
    } catch (error) {
      signal.throwIfAborted();
      if (isStorageError(error as Error)) throw error;
      const { message, stack } = error as Error;
      log(`asset ${uid} ${stack ?? message}`);
      return failedOutcome(`processing stopped: ${message}`);
    } finally {
      await rm(workDir, removeOptions);
    }
  }
}

/** Free space above which "disk full" is retried only a few times, since a malicious source can cause the message. */
const ampleFreeBytes = 1024 * 1024 * 1024;
const maxFullDiskRetries = 3;

/** Options for removing a folder, with retries in case a left-over process still writes to it. */
const removeOptions = { recursive: true, force: true, maxRetries: 5 } as const;

/** Moves a folder, if it exists, to its final path. Removes the output of an earlier run. */
async function publish(from: string, to: string): Promise<void> {
  await rm(to, removeOptions);
  await rename(from, to).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
}
