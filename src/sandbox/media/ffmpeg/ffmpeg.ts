import { mkdir, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Clock } from '../../../shared/clock.ts';
import { TimeoutError, withTimeout } from '../../../shared/retry.ts';
import { assertNotDiskFull } from './storage-errors.ts';
import { runTool, type Tool } from './tool.ts';

/** Memory limit for ffmpeg, which suffices for 8K frames and the reference frames of a codec. */
const memoryMiB = 3 * 1024;

const commonArgs = ['-hide_banner', '-v', 'error', '-max_alloc', String(512 * 1024 * 1024)];

/** Options for every ffmpeg run. The time limit is for a process that is left over after the sandbox has died. */
const ffmpegArgs = ['-nostdin', '-y', '-timelimit', '7200'];

export type FfmpegSource = { path: string; demuxer: string };

/**
 * Returns the ffmpeg input arguments for a source. Since sources are untrusted, ffmpeg does not probe the format
 * but uses the demuxer of the detected container, so that it follows no playlist or script. Only the `file`
 * protocol is allowed, and images are limited to 100 megapixels.
 */
const inputArgs = ({ path, demuxer }: FfmpegSource, options: readonly string[]) => [
  ...['-protocol_whitelist', 'file', '-max_pixels', '100000000', '-threads', '1'],
  ...['-f', demuxer, ...options, '-i', `file:${resolve(path)}`],
];

export type FfmpegContext = {
  /** Output folder, and ffmpeg's working directory. */
  folder: string;
  /**
   * Runs ffmpeg on the source; returns its stdout. `input` are options of the input.
   * @throws Error if one of the `outputs` is missing or empty, and the errors of `runTool`
   */
  run(args: readonly string[], options?: { input?: string[]; outputs?: string[] }): Promise<Buffer>;
  /** Runs ffprobe on the source; returns its stdout. @throws the errors of `runTool` */
  probe(args: readonly string[]): Promise<Buffer>;
};

/** Returns true if ffmpeg wrote a non-empty file. Without frames it succeeds, but leaves an empty file or none. */
export const hasOutput = (folder: string, file: string): Promise<boolean> =>
  stat(join(folder, file)).then(
    ({ size }) => size > 0,
    () => false,
  );

export type StepOptions = {
  clock: Pick<Clock, 'sleep'>;
  /** Aborts all steps when the sandbox closes. */
  signal: AbortSignal;
  /** Receives the reason for each skipped step. */
  log(line: string): void;
};

/**
 * Runs an optional step with a timeout. If it fails, logs the reason and returns undefined.
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
    log(`no ${name}: ${error instanceof TimeoutError ? `timed out after ${seconds} s` : message}`);
    return undefined;
  }
}

/** Runs an optional ffmpeg step on a source; returns undefined if it fails or ffmpeg is missing. */
export type FfmpegAttempt = <T>(
  name: string,
  seconds: number,
  source: FfmpegSource,
  make: (context: FfmpegContext) => Promise<T>,
) => Promise<T | undefined>;

export const createFfmpegAttempt =
  (folder: string, ffmpeg: Tool | undefined, options: StepOptions): FfmpegAttempt =>
  async (name, seconds, source, make) =>
    ffmpeg &&
    attemptStep(options, name, seconds, async (signal) => {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const runOn = (tool: Tool, args: readonly string[]) =>
        runTool(tool, { args: [...commonArgs, ...args], memoryMiB, cwd: folder, signal }).catch((error: Error) => {
          // Strip the absolute path from the message.
          error.message = error.message.replaceAll(`file:${resolve(source.path)}`, 'the source');
          throw error;
        });
      const run: FfmpegContext['run'] = async (args, { input = [], outputs = [] } = {}) => {
        const printed = await runOn(ffmpeg, [...ffmpegArgs, ...inputArgs(source, input), ...args]);
        for (const file of outputs)
          if (!(await hasOutput(folder, file))) throw new Error(`ffmpeg did not write ${file}`);
        return printed;
      };
      const ffprobe = { ...ffmpeg, path: ffprobePathOf(ffmpeg.path) };
      return make({ folder, run, probe: (args) => runOn(ffprobe, [...inputArgs(source, []), ...args]) });
    });

/** Returns the path of ffprobe, which is installed beside ffmpeg under a name of the same form. */
const ffprobePathOf = (ffmpeg: string) => join(dirname(ffmpeg), basename(ffmpeg).replace('ffmpeg', 'ffprobe'));
