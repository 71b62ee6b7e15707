import { join } from 'node:path';
import type { Processed } from '../store/assets.ts';
import { type Extras, noExtras } from '../store/extras.ts';
import { type Attempt, attemptsIn } from './ffmpeg/attempts.ts';
import type { Tool } from './ffmpeg/tool.ts';
import type { Found, Task } from './recognize/inspection.ts';
import { type Inspector, inspect, type Report } from './recognize/inspector.ts';

/** Optional programs; undefined if missing. */
export type Tools = { ffmpeg: Tool | undefined; pdftoppm: Tool | undefined };

export type JobOptions = {
  sourcePath: string;
  filename: string;
  /** Type declared by the uploader; see `InspectionTask`. */
  declaredType: string;
  /** Temporary folder of this job. */
  work: string;
  inspector: Inspector;
  tools: Tools;
  /** Timeout of each tool run in seconds; overrides the default of each kind of run. */
  limitSeconds: number | undefined;
  /** Aborts the job when the sandbox closes. */
  signal: AbortSignal;
  log(line: string): void;
};

/** Context of all processing steps of one asset. */
export type Job = JobOptions & {
  /** Output folders, which are published when the job succeeds. */
  hls: string;
  extras: string;
  /** Runs an ffmpeg step that writes derived files. */
  attempt: Attempt;
  /** Runs an ffmpeg step that writes temporary files. */
  attemptAside: Attempt;
  /** Inspects a file in a worker process. @throws the abort reason, or Error without a result */
  inspect(task: Pick<Task, 'sourcePath' | 'hlsDir' | 'firstId' | 'cuts'>): Promise<Report>;
};

export type Outcome = { outcome: 'failed'; reason: string } | ({ outcome: 'ready' } & Processed);

export function jobOf(options: JobOptions): Job {
  const { work, inspector, tools, filename, declaredType, signal } = options;
  const extras = join(work, 'extras');
  return {
    ...options,
    extras,
    hls: join(work, 'hls'),
    attempt: attemptsIn(extras, tools.ffmpeg, options),
    attemptAside: attemptsIn(join(work, 'aside'), tools.ffmpeg, options),
    inspect: (task) =>
      inspect(inspector, { ...task, filename, declaredType, extrasDir: extras }, signal),
  };
}

export const failed = (reason: string): Outcome => ({ outcome: 'failed', reason });

/** Builds the outcome of a successful job from the inspected source and its derived files. */
export function ready(
  { type, contentType, duration, width, height, chapters }: Found,
  made: Partial<Extras> = {},
  hasHls = false,
): Outcome {
  const extras = { ...noExtras, ...made };
  const content_type = contentType;
  const facts = { type, content_type, duration, width, height, chapters };
  return { outcome: 'ready', ...facts, hasHls, extras };
}
