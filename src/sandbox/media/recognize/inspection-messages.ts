import type { HlsPackage } from '../hls/rendition.ts';
import type { MediaChapter } from './chapters.ts';

/** Task message for the media worker. */
export type InspectionTask = {
  sourcePath: string;
  /** File name given by the uploader. */
  filename: string;
  /** Type declared by the uploader: `video`, `audio`, `image`; `generic` for anything else. */
  declaredType: string;
  /** Folder for images extracted from the source; created if missing. */
  extrasDir: string;
  /** Folder for the HLS files of a video, and the id of its first playlist. */
  hlsDir: string;
  firstId: number;
  /** Requested segment starts in seconds. */
  cuts?: readonly number[];
};

/**
 * Messages from the worker, in order: what the source is, the result of reading media to the end,
 * and the end.
 */
export type WorkerMessage =
  | { about: 'source'; found: InspectedSource | BrokenSource }
  | { about: 'reading'; reading: MediaReading }
  | { about: 'end' };

/** Result for a file that does not match its name or type; `reason` is text for the user. */
export type BrokenSource = { type: 'broken'; reason: string };

export type InspectedSource = {
  type: 'video' | 'audio' | 'image' | 'document' | 'generic';
  contentType: string;
  /** Duration in seconds. */
  duration: number | null;
  /** Display size in pixels. */
  width: number | null;
  height: number | null;
  chapters: MediaChapter[];
  /** ffmpeg's demuxer of the container; null if ffmpeg is not used for it. */
  demuxer: string | null;
  /** Codec names, null for codecs unknown to mediabunny; undefined if it cannot read the file. */
  codecs: { picture?: string | null; sounds: (string | null)[] } | undefined;
  /** Delay of the video after the first other track, in seconds. */
  pictureLateSeconds: number;
  /** Sample rate of the first audio track, in Hz. */
  sampleRate: number | null;
  /** File name of the cover extracted from audio, in the folder of derived files. */
  cover: string | null;
  /**
   * Why mediabunny does not read the file: its content is broken, only ffmpeg reads this type
   * (`foreign`), or reading it would take too much memory (`large`).
   */
  unread?: { reason: string; why: 'broken' | 'foreign' | 'large' };
};

export type MediaReading = {
  /** Duration from the first packet to the end of the last, in seconds; null if unknown. */
  seconds: number | null;
  package: HlsPackage | null;
  /** Why a video was not packaged as HLS. */
  problem: string | null;
};
