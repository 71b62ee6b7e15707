import type { Size } from './dimensions.ts';

/** What an extra is made of, and with. */
export type Workshop = {
  source: { path: string; demuxer: string };
  /** Where to write; ffmpeg's working folder. */
  folder: string;
  /** ffmpeg with these arguments, bounded by the time of the extra; answers its stdout. */
  run(args: readonly string[], folder?: string): Promise<Buffer>;
};

/** A video as the worker found it; its duration in seconds. */
export type Video = Size & { duration: number; hasAudio: boolean };
