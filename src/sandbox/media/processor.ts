import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { Files } from '../files.ts';
import type { Assets } from '../store/assets.ts';
import type { Inspection, Task } from './inspection.ts';

/** A hostile file must not hold a core or the memory for ever. */
const limits = { seconds: 600, memoryMiB: 1024 };

export type ProcessorOptions = {
  files: Files;
  assets: Assets;
  /** The built worker. */
  workerPath: string;
  now(): number;
  log(line: string): void;
};

/** Turns sources into assets: one job a core, each in a thread of its own that may be ended. */
export class Processor {
  readonly #options: ProcessorOptions;
  readonly #queue: string[] = [];
  readonly #running = new Set<Worker>();
  #closed = false;

  constructor(options: ProcessorOptions) {
    this.#options = options;
  }

  /** Every byte of the asset is here: it is the processor's turn. */
  enqueue(assetUid: string): void {
    this.#queue.push(assetUid);
    this.#next();
  }

  /** After a start: what a stop cut short begins again. */
  resume(): void {
    for (const uid of this.#options.assets.unprocessed()) this.enqueue(uid);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#running].map((worker) => worker.terminate()));
  }

  #next(): void {
    while (!this.#closed && this.#running.size < availableParallelism()) {
      const uid = this.#queue.shift();
      if (uid === undefined) return;
      const worker = this.#start(uid);
      this.#running.add(worker);
      worker.once('exit', () => {
        this.#running.delete(worker);
        this.#next();
      });
    }
  }

  #start(uid: string): Worker {
    const { files, assets, workerPath, log } = this.#options;
    const filename = assets.find(uid)?.filename ?? '';
    assets.setStatus(uid, 'processing', this.#now());
    const worker = new Worker(workerPath, {
      workerData: {
        sourcePath: files.source(uid),
        hlsDir: files.hls(uid),
        filename,
      } satisfies Task,
      resourceLimits: { maxOldGenerationSizeMb: limits.memoryMiB },
      stdout: false,
      stderr: false,
    });
    let settled = false;
    const settle = (inspection: Inspection) => {
      if (settled || this.#closed) return;
      settled = true;
      this.#record(uid, inspection);
      log(`asset ${uid} ${inspection.outcome}`);
      void worker.terminate();
    };
    const timer = setTimeout(
      () => settle({ outcome: 'failed', reason: `processing took over ${limits.seconds} s` }),
      limits.seconds * 1000,
    );
    worker.once('message', settle);
    worker.once('error', (error) =>
      settle({ outcome: 'failed', reason: `processing stopped: ${error.message}` }),
    );
    worker.once('exit', () => {
      clearTimeout(timer);
      settle({ outcome: 'failed', reason: 'processing stopped without a result' });
    });
    return worker;
  }

  #record(uid: string, inspection: Inspection): void {
    const { assets } = this.#options;
    if (inspection.outcome === 'failed') {
      assets.setStatus(uid, 'failed', this.#now(), inspection.reason);
    } else {
      const { contentType, ...found } = inspection;
      assets.setProcessed(uid, { ...found, content_type: contentType }, this.#now());
    }
  }

  #now(): string {
    return new Date(this.#options.now()).toISOString();
  }
}
