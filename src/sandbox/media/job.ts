import { join } from 'node:path';
import type { Processed } from '../store/assets.ts';
import { type Extras, noExtras } from '../store/extras.ts';
import { type Attempt, attemptsIn } from './ffmpeg/attempts.ts';
import type { Tool } from './ffmpeg/tool.ts';
import type { Found, Task } from './recognize/inspection.ts';
import { type Inspector, inspect, type Report } from './recognize/inspector.ts';

/** Programs that help, where they are there. */
export type Tools = { ffmpeg: Tool | undefined; pdftoppm: Tool | undefined };

export type JobOptions = {
  sourcePath: string;
  filename: string;
  /** What its uploader says that it is; see `Task`. */
  declaredType: string;
  /** A folder of the job's own. */
  work: string;
  inspector: Inspector;
  tools: Tools;
  /** Seconds that a tool may take for any one thing, in place of the limit of each. */
  limitSeconds: number | undefined;
  /** Ends it: the sandbox is closing. */
  signal: AbortSignal;
  log(line: string): void;
};

/** What the steps of a job are handed. */
export type Job = JobOptions & {
  /** What is served once all is done. */
  hls: string;
  extras: string;
  /** Makes what is served, in the folder of extras. */
  attempt: Attempt;
  /** Makes what is needed on the way. */
  attemptAside: Attempt;
  /** @throws the signal's reason, or an Error where the worker ends without an answer */
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

/** With what was made of it; `found` says what it is. */
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
