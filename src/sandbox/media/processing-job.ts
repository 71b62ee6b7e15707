import { join } from 'node:path';
import type { ProcessingResult } from '../store/assets.ts';
import { type DerivedFiles, noDerivedFiles } from '../store/derived-files.ts';
import { createFfmpegAttempt, type FfmpegAttempt, type StepOptions } from './ffmpeg/ffmpeg.ts';
import type { Tool } from './ffmpeg/tool.ts';
import type { InspectedSource, InspectionTask } from './recognize/inspection-messages.ts';
import { type InspectionReport, inspectInWorker, type MediaWorker } from './recognize/inspection-process.ts';

export type ProcessingJobOptions = StepOptions &
  Omit<InspectionTask, 'hlsDir'> & {
    workDir: string;
    inspector: MediaWorker;
    /** Draws credits for subtitle tracks. Returns false if the balance is too low to generate them. */
    drawSubtitleCredits(trackCount: number): boolean;
    /** Optional programs, each undefined if it is missing. */
    tools: { ffmpeg: Tool | undefined; pdftoppm: Tool | undefined };
  };

export type ProcessingJob = ProcessingJobOptions & {
  /** Output folders, which are published when the job succeeds. */
  hlsDir: string;
  derivedFilesDir: string;
  /** Runs an ffmpeg step that writes derived files. */
  attempt: FfmpegAttempt;
  /** Runs an ffmpeg step that writes temporary files. */
  attemptTemporary: FfmpegAttempt;
  /** Calls `inspectInWorker`. `signal` replaces that of the job. */
  inspect(task: Pick<InspectionTask, 'sourcePath' | 'hlsDir'>, signal?: AbortSignal): Promise<InspectionReport>;
};

export type ProcessingOutcome = { outcome: 'failed'; reason: string } | { outcome: 'ready'; result: ProcessingResult };

export function createJob(options: ProcessingJobOptions): ProcessingJob {
  const { workDir, inspector, tools, filename, declaredType } = options;
  const derivedFilesDir = join(workDir, 'extras');
  return {
    ...options,
    derivedFilesDir,
    hlsDir: join(workDir, 'hls'),
    attempt: createFfmpegAttempt(derivedFilesDir, tools.ffmpeg, options),
    attemptTemporary: createFfmpegAttempt(join(workDir, 'aside'), tools.ffmpeg, options),
    inspect: (task, signal = options.signal) =>
      inspectInWorker(inspector, { ...task, filename, declaredType }, { signal, clock: options.clock }),
  };
}

export const failedOutcome = (reason: string): ProcessingOutcome => ({ outcome: 'failed', reason });

export function readyOutcome(
  { type, contentType, duration, width, height, chapters = [] }: InspectedSource,
  made: Partial<DerivedFiles> = {},
  hasHls = false,
): ProcessingOutcome {
  const size = { width: width ?? null, height: height ?? null };
  const facts = { type, content_type: contentType, duration: duration ?? null, ...size, chapters };
  return { outcome: 'ready', result: { ...facts, hasHls, derivedFiles: { ...noDerivedFiles, ...made } } };
}
