import { mkdir, rename, rm } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { Files } from '../files.ts';
import { storageFailure } from '../storage-failure.ts';
import type { Assets } from '../store/assets.ts';
import { noExtras } from '../store/extras.ts';
import { makeExtras } from './extras.ts';
import type { Ffmpeg } from './ffmpeg.ts';
import type { Found, Inspection, Task } from './inspection.ts';

/** A hostile file must not hold a core or the memory for ever. */
const limits = { seconds: 600, memoryMiB: 1024 };

export type ProcessorOptions = {
  files: Files;
  assets: Assets;
  /** The built worker. */
  workerPath: string;
  /** Undefined: what only it can make is left out. */
  ffmpeg: Ffmpeg | undefined;
  /** Seconds that it may take for any one thing, in place of the limit of each. */
  ffmpegSeconds: number | undefined;
  now(): number;
  log(line: string): void;
};

/**
 * Turns sources into assets: one job a core. A job inspects in a thread of its own, which may be
 * ended, then has ffmpeg make what it can in processes, which may be ended too.
 */
export class Processor {
  readonly #options: ProcessorOptions;
  readonly #queue: string[] = [];
  readonly #running = new Set<Promise<void>>();
  readonly #closing = new AbortController();

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

  /** What is under way is left as it is: the next start does it again. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('the sandbox is closing'));
    await Promise.all(this.#running);
  }

  #next(): void {
    while (!this.#closing.signal.aborted && this.#running.size < availableParallelism()) {
      const uid = this.#queue.shift();
      if (uid === undefined) return;
      const job = this.#process(uid).finally(() => {
        this.#running.delete(job);
        this.#next();
      });
      this.#running.add(job);
    }
  }

  async #process(uid: string): Promise<void> {
    const { assets, log } = this.#options;
    await this.#stored(() => assets.setStatus(uid, 'processing', this.#now()));
    const outcome = await this.#outcomeOf(uid).catch((error: Error) => ({
      outcome: 'failed' as const,
      reason: `processing stopped: ${error.message}`,
    }));
    if (this.#closing.signal.aborted) return;
    await this.#stored(() => {
      if (outcome.outcome === 'failed')
        assets.setStatus(uid, 'failed', this.#now(), outcome.reason);
      else assets.setProcessed(uid, outcome, this.#now());
    });
    log(`asset ${uid} ${outcome.outcome}`);
  }

  /** While the disk or the store refuses a change, it is tried again after a pause. */
  async #stored(change: () => void): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted)
      try {
        return change();
      } catch (error) {
        if (!storageFailure(error)) throw error;
        this.#options.log(`error processing waits for storage: ${(error as Error).message}`);
        await sleep(500, undefined, { signal }).catch(() => {}); // aborted: the loop ends
      }
  }

  /** Works in a folder of its own, which an orphan of a killed sandbox finds gone. */
  async #outcomeOf(uid: string) {
    const { files, assets } = this.#options;
    const work = files.work(uid);
    await rm(work, removal);
    await mkdir(work, { mode: 0o700 });
    const [hls, extras] = [join(work, 'hls'), join(work, 'extras')];
    try {
      const filename = assets.find(uid)?.filename ?? '';
      const found = await this.#inspect({ sourcePath: files.source(uid), hlsDir: hls, filename });
      if (found.outcome === 'failed') return found;
      const made = await this.#extrasOf(uid, found, { hls, folder: extras });
      await publish(hls, files.hls(uid));
      await publish(extras, files.extras(uid));
      const { hasHls, ...rest } = made;
      return { ...found, content_type: found.contentType, hasHls, extras: rest };
    } finally {
      await rm(work, removal);
    }
  }

  async #extrasOf(uid: string, found: Found, folders: { hls: string; folder: string }) {
    const { files, ffmpeg, ffmpegSeconds: limitSeconds, log } = this.#options;
    if (!ffmpeg) return { ...noExtras, hasHls: found.hasHls };
    return makeExtras({
      ...folders,
      ffmpeg,
      limitSeconds,
      found,
      sourcePath: files.source(uid),
      signal: this.#closing.signal,
      log: (line) => log(`asset ${uid} ${line}`),
    });
  }

  #inspect(task: Task): Promise<Inspection> {
    const { signal } = this.#closing;
    const worker = new Worker(this.#options.workerPath, {
      workerData: task,
      resourceLimits: { maxOldGenerationSizeMb: limits.memoryMiB },
      stdout: false,
      stderr: false,
    });
    return new Promise<Inspection>((resolve) => {
      const fail = (reason: string) => resolve({ outcome: 'failed', reason });
      const timer = setTimeout(
        () => fail(`processing took over ${limits.seconds} s`),
        limits.seconds * 1000,
      );
      const onAbort = () => fail('the sandbox is closing');
      signal.addEventListener('abort', onAbort, { once: true });
      worker.once('message', resolve);
      worker.once('error', (error) => fail(`processing stopped: ${error.message}`));
      worker.once('exit', () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
        fail('processing stopped without a result');
      });
    }).finally(() => worker.terminate());
  }

  #now(): string {
    return new Date(this.#options.now()).toISOString();
  }
}

/** What a rival still writes into it may need a second try. */
const removal = { recursive: true, force: true, maxRetries: 5 } as const;

/** Takes the place of what an earlier run left; nothing where nothing was made. */
async function publish(made: string, place: string): Promise<void> {
  await rm(place, removal);
  await rename(made, place).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
}
