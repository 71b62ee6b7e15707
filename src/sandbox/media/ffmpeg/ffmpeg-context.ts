import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Dimensions } from '../recognize/dimensions.ts';
import type { FfmpegSource } from './ffmpeg.ts';

/** Context of an ffmpeg run that creates derived files from a source. */
export type FfmpegContext = {
  source: FfmpegSource;
  /** Output folder, and ffmpeg's working directory. */
  folder: string;
  /** Runs ffmpeg with these arguments and the step's timeout; returns its stdout. */
  run(args: readonly string[]): Promise<Buffer>;
};

/** Properties of a video, as needed for encoding. */
export type VideoProperties = Dimensions & {
  /** Duration in seconds. */
  duration: number;
  hasAudio: boolean;
  /** True if the audio starts well before the video. */
  isLate: boolean;
};

/**
 * Returns true if ffmpeg wrote the file. Without a frame, it succeeds but leaves an empty file or
 * none.
 */
export const hasOutput = (folder: string, file: string): Promise<boolean> =>
  stat(join(folder, file)).then(
    ({ size }) => size > 0,
    () => false,
  );

/** Checks that ffmpeg wrote all files. @throws Error if one is missing */
export async function assertOutputs(folder: string, files: readonly string[]): Promise<void> {
  for (const file of files)
    if (!(await hasOutput(folder, file))) throw new Error(`ffmpeg left ${file} out`);
}
