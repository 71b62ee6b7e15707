import { mkdir, rename, rm } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Files } from '../files.ts';
import type { AssetRow, Assets } from '../store/assets.ts';
import { isOfStorage, NoRoom } from './ffmpeg/storage.ts';
import { failed, type Outcome, type Tools } from './job.ts';
import { processSource } from './process-source.ts';
import type { Inspector } from './recognize/inspector.ts';

export type ProcessorOptions = {
  files: Files;
  assets: Assets;
  inspector: Inspector;
  tools: Tools;
  /** Seconds that a tool may take for any one thing, in place of the limit of each. */
  limitSeconds: number | undefined;
  now(): number;
  log(line: string): void;
};

/**
 * Turns sources into assets: one job a core. A source is inspected in a process of its own, which may
 * be ended, then ffmpeg makes what it can in processes, which may be ended too.
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
      const job = this.#process(uid)
        .catch((error: Error) => this.#leave(uid, error))
        .finally(() => {
          this.#running.delete(job);
          this.#next();
        });
      this.#running.add(job);
    }
  }

  /** As it is: the next start takes it up again. */
  #leave(uid: string, error: Error): void {
    if (!this.#closing.signal.aborted)
      this.#options.log(`asset ${uid} is left as it is: ${error.stack ?? error.message}`);
  }

  async #process(uid: string): Promise<void> {
    const { assets, log } = this.#options;
    const asset = await this.#stored(uid, () => {
      assets.setStatus(uid, 'processing', this.#now());
      return assets.find(uid);
    });
    if (!asset) return; // in the trash
    const outcome = await this.#stored(uid, () => this.#outcomeOf(asset)).catch((error: Error) => {
      if (error instanceof NoRoom) return failed(error.message);
      throw error;
    });
    await this.#stored(uid, () => {
      if (outcome.outcome === 'failed')
        assets.setStatus(uid, 'failed', this.#now(), outcome.reason);
      else assets.setProcessed(uid, outcome, this.#now());
    });
    log(`asset ${uid} ${outcome.outcome}`);
  }

  /**
   * Work that needs the disk or the store: while these refuse it, it is tried again after a pause.
   *
   * @throws Error for any other reason, also where it is said that the disk is full, and it is not;
   * or once the sandbox is closing
   */
  async #stored<T>(uid: string, work: () => T | Promise<T>): Promise<T> {
    const { signal } = this.#closing;
    let doubts = 0;
    for (let pauseMs = 250; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
      signal.throwIfAborted();
      try {
        return await work();
      } catch (error) {
        signal.throwIfAborted();
        if (!isOfStorage(error as Error)) throw error;
        const hasRoom =
          error instanceof NoRoom && (await this.#options.files.freeBytes()) > muchRoom;
        if (hasRoom && doubts++ >= mostDoubts) throw error;
        const { message } = error as Error;
        this.#options.log(`asset ${uid} waits ${pauseMs / 1000} s for storage: ${message}`);
        await sleep(pauseMs, undefined, { signal });
      }
    }
  }

  /** Works in a folder of its own, which an orphan of a killed sandbox finds gone. */
  async #outcomeOf({ uid, filename, type }: AssetRow): Promise<Outcome> {
    const { files, inspector, tools, limitSeconds, log } = this.#options;
    const { signal } = this.#closing;
    const work = files.work(uid);
    await rm(work, removal);
    await mkdir(work, { mode: 0o700 });
    try {
      const outcome = await processSource({
        ...{ work, filename, declaredType: type, inspector, tools, limitSeconds, signal },
        sourcePath: files.source(uid),
        log: (line) => log(`asset ${uid} ${line}`),
      });
      if (outcome.outcome === 'failed') return outcome;
      await publish(join(work, 'hls'), files.hls(uid));
      await publish(join(work, 'extras'), files.extras(uid));
      return outcome;
    } catch (error) {
      signal.throwIfAborted();
      if (isOfStorage(error as Error)) throw error;
      const { message, stack } = error as Error;
      log(`asset ${uid} ${stack ?? message}`);
      return failed(`processing stopped: ${message}`);
    } finally {
      await rm(work, removal);
    }
  }

  #now(): string {
    return new Date(this.#options.now()).toISOString();
  }
}

const longestPauseMs = 10_000;
/** A source may have said it: with so much room, only so often is it believed. */
const muchRoom = 1024 * 1024 * 1024;
const mostDoubts = 3;

/** What a rival still writes into it may need a second try. */
const removal = { recursive: true, force: true, maxRetries: 5 } as const;

/** Takes the place of what an earlier run left; nothing where nothing was made. */
async function publish(made: string, place: string): Promise<void> {
  await rm(place, removal);
  await rename(made, place).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
}
