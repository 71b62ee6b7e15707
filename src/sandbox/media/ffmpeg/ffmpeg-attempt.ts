import { mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Clock } from '../../../contract/clock.ts';
import { TimeoutError, withTimeout } from '../../../contract/retry.ts';
import { type FfmpegSource, runFfmpeg } from './ffmpeg.ts';
import type { FfmpegContext } from './ffmpeg-context.ts';
import { assertNotDiskFull } from './storage-errors.ts';
import type { Tool } from './tool.ts';

export type StepOptions = {
  clock: Pick<Clock, 'sleep'>;
  /** Aborts all steps when the sandbox closes. */
  signal: AbortSignal;
  /** Receives the reason for each skipped step. */
  log(line: string): void;
};

/**
 * Runs an optional processing step with a timeout. If the step fails, logs the reason and returns undefined, since
 * the asset is usable without the result.
 *
 * @throws DiskFullError if the disk is full, or the abort reason if the sandbox closes
 */
export async function attemptStep<T>(
  { clock, signal, log }: StepOptions,
  name: string,
  seconds: number,
  make: (signal: AbortSignal) => Promise<T>,
): Promise<T | undefined> {
  try {
    return await withTimeout(1000 * seconds, make, { clock, signal });
  } catch (error) {
    signal.throwIfAborted();
    const { message } = error as Error;
    assertNotDiskFull(message);
    log(`no ${name}: ${error instanceof TimeoutError ? `it took over ${seconds} s` : message}`);
    return undefined;
  }
}

/** Runs an optional ffmpeg step on a source; returns undefined if it fails or ffmpeg is missing. */
export type FfmpegAttempt = <T>(
  name: string,
  ownSeconds: number,
  source: FfmpegSource,
  make: (context: FfmpegContext) => Promise<T>,
) => Promise<T | undefined>;

/** Creates an `FfmpegAttempt` that writes to a folder, which it creates if missing. */
export const createFfmpegAttempt =
  (folder: string, ffmpeg: Tool | undefined, options: StepOptions): FfmpegAttempt =>
  async (name, ownSeconds, source, make) =>
    ffmpeg &&
    attemptStep(options, name, ownSeconds, async (signal) => {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const run: FfmpegContext['run'] = (args) =>
        runFfmpeg(ffmpeg, { args, cwd: folder, signal }).catch((error: Error) => {
          // Strip the absolute path from the message.
          error.message = error.message.replaceAll(`file:${resolve(source.path)}`, 'the source');
          throw error;
        });
      return make({ source, folder, run });
    });
