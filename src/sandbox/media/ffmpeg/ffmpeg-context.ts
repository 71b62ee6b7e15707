import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Dimensions } from '../recognize/dimensions.ts';
import type { FfmpegSource } from './ffmpeg.ts';

/** Context for creating derived files from a source with ffmpeg. */
export type FfmpegContext = {
  source: FfmpegSource;
  /** Output folder, and ffmpeg's working directory. */
  folder: string;
  /** Runs ffmpeg with these arguments and the timeout of the step; returns its stdout. */
  run(args: readonly string[]): Promise<Buffer>;
};

/** Properties of a video that encoding needs. */
export type VideoProperties = Dimensions & {
  /** Duration in seconds. */
  duration: number;
  hasAudio: boolean;
  /** True if the audio starts well before the video. */
  isLate: boolean;
};

/**
 * Returns true if ffmpeg wrote a non-empty file. If there is no frame, ffmpeg still succeeds but leaves an empty
 * file or no file.
 */
export const hasOutput = (folder: string, file: string): Promise<boolean> =>
  stat(join(folder, file)).then(
    ({ size }) => size > 0,
    () => false,
  );

/**
 * Checks that ffmpeg wrote all of these files.
 *
 * @throws Error if a file is missing or empty
 */
export async function assertOutputs(folder: string, files: readonly string[]): Promise<void> {
  for (const file of files) if (!(await hasOutput(folder, file))) throw new Error(`ffmpeg left ${file} out`);
}
