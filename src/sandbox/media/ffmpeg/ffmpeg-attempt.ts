import { mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type FfmpegSource, runFfmpeg } from './ffmpeg.ts';
import type { FfmpegContext } from './ffmpeg-context.ts';
import { assertNotDiskFull } from './storage-errors.ts';
import type { Tool } from './tool.ts';

export type FfmpegAttemptOptions = {
  /** Timeout in seconds for every step; by default, each step has its own timeout. */
  limitSeconds: number | undefined;
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
export async function withTimeout<T>(
  { limitSeconds, signal, log }: FfmpegAttemptOptions,
  name: string,
  defaultSeconds: number,
  make: (signal: AbortSignal) => Promise<T>,
): Promise<T | undefined> {
  const seconds = limitSeconds ?? defaultSeconds;
  const timeout = AbortSignal.timeout(Math.ceil(seconds * 1000));
  try {
    return await make(AbortSignal.any([signal, timeout]));
  } catch (error) {
    signal.throwIfAborted();
    const { message } = error as Error;
    assertNotDiskFull(message);
    log(`no ${name}: ${timeout.aborted ? `it took over ${seconds} s` : message}`);
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
  (folder: string, ffmpeg: Tool | undefined, options: FfmpegAttemptOptions): FfmpegAttempt =>
  async (name, ownSeconds, source, make) =>
    ffmpeg &&
    withTimeout(options, name, ownSeconds, async (signal) => {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const run: FfmpegContext['run'] = (args) =>
        runFfmpeg(ffmpeg, { args, cwd: folder, signal }).catch((error: Error) => {
          // Strip the absolute path from the message.
          error.message = error.message.replaceAll(`file:${resolve(source.path)}`, 'the source');
          throw error;
        });
      return make({ source, folder, run });
    });
