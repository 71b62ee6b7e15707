import type { AssetType } from '../../../contract/asset-values.ts';

/** A chapter as in playback info (§2); `start_time` is in seconds. */
export type MediaChapter = { title: string; start_time: number };

export type InspectionTask = {
  sourcePath: string;
  filename: string;
  /** Type declared by the uploader: `video`, `audio`, `image`; `generic` for anything else. */
  declaredType: string;
  /** Folder for the HLS files of a video. */
  hlsDir: string;
};

/** Message from the worker, which replaces what an earlier one said. Media are inspected before they are read. */
export type WorkerMessage = {
  found?: InspectedSource | BrokenSource;
  /** Result of reading media to their end. */
  reading?: MediaReading;
  /** True in the last message. */
  isComplete?: boolean;
  /** In the last message: true if the worker can inspect another source, false if it holds much memory. */
  isReusable?: boolean;
};

/** Result for a file that is damaged or does not match its name or type; users see `reason`. */
export type BrokenSource = { type: 'broken'; reason: string };

export type InspectedSource = {
  type: Exclude<AssetType, 'third_party'>;
  contentType: string;
  /** Duration in seconds. */
  duration?: number | null;
  /** Display size in pixels. */
  width?: number;
  height?: number;
  chapters?: MediaChapter[];
  /** ffmpeg demuxer for the container; undefined if ffmpeg is not used for it. */
  demuxer?: string;
  /** Codec names, null for codecs unknown to mediabunny; undefined if the file was not read. */
  codecs?: { picture?: string | null; sound?: string | null | undefined } | undefined;
  /** Delay in seconds of the first video frame relative to the start of the earliest track. */
  pictureLateSeconds?: number;
  /** Sample rate of the first audio track in Hz. */
  sampleRate?: number;
  /**
   * Reason why the file could not be read: its content is broken (`broken`), the sandbox has no reader for its
   * type, only ffmpeg has (`foreign`), or reading it needs too much memory (`large`).
   */
  unread?: { reason: string; why: 'broken' | 'foreign' | 'large' };
};

export type MediaReading = {
  /** Duration from the first packet to the end of the last, in seconds; null if unknown. */
  seconds: number | null;
  /** Master playlist of a video packaged as HLS. Its media playlist and segments are in `hlsDir`. */
  master: string | null;
  /** Reason why a video was not packaged as HLS or reading failed; null if there was no problem. */
  problem: string | null;
};
