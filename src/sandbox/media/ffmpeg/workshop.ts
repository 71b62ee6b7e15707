import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Size } from '../recognize/dimensions.ts';
import type { Source } from './ffmpeg.ts';

/** What an extra is made of, and with. */
export type Workshop = {
  source: Source;
  /** Where to write; ffmpeg's working folder. */
  folder: string;
  /** ffmpeg with these arguments, bounded by the time of the extra; answers its stdout. */
  run(args: readonly string[]): Promise<Buffer>;
};

/** A video as it was found. */
export type Video = Size & {
  /** Seconds. */
  duration: number;
  hasAudio: boolean;
  /** The sound begins long before it. */
  isLate: boolean;
};

/** Whether ffmpeg wrote it: without a frame it is content, and leaves an empty file or none. */
export const isMade = (folder: string, file: string): Promise<boolean> =>
  stat(join(folder, file)).then(
    ({ size }) => size > 0,
    () => false,
  );

/** @throws Error where one of them is missing */
export async function assertMade(folder: string, files: readonly string[]): Promise<void> {
  for (const file of files)
    if (!(await isMade(folder, file))) throw new Error(`ffmpeg left ${file} out`);
}
