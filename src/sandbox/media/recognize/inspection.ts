import type { Package } from '../hls/rendition.ts';
import type { Chapter } from './chapters.ts';

/** What the media worker is given. */
export type Task = {
  sourcePath: string;
  /** As the uploader calls it. */
  filename: string;
  /** What the uploader says that it is: `video`, `audio`, `image`; `generic` for anything else. */
  declaredType: string;
  /** Where pictures that it finds in the source go; made if missing. */
  extrasDir: string;
  /** Where HLS of a video goes, and the number of its first playlist. */
  hlsDir: string;
  firstId: number;
  /** Seconds at which its segments shall begin. */
  cuts?: readonly number[];
};

/** Messages of the worker: what the source is, then the result of reading media whole, then its end. */
export type Message =
  | { about: 'source'; found: Found | Broken }
  | { about: 'reading'; reading: Reading }
  | { about: 'end' };

/** The file is not what its name or type promises; the reason in words. */
export type Broken = { type: 'broken'; reason: string };

export type Found = {
  type: 'video' | 'audio' | 'image' | 'document' | 'generic';
  contentType: string;
  /** Seconds. */
  duration: number | null;
  /** Pixels, as displayed. */
  width: number | null;
  height: number | null;
  chapters: Chapter[];
  /** ffmpeg's name for the container; null where it has nothing to do. */
  demuxer: string | null;
  /** Names of the codecs, null for what mediabunny does not know; undefined where it reads nothing. */
  codecs: { picture?: string | null; sounds: (string | null)[] } | undefined;
  /** How much later than anything else the picture begins, in seconds. */
  pictureLateSeconds: number;
  /** Of the first sound, in Hz. */
  sampleRate: number | null;
  /** A picture in the folder of extras that came with a sound. */
  cover: string | null;
  /**
   * Why mediabunny reads nothing of it: what is in it makes no sense, ffmpeg alone reads such files,
   * or it would take too much to read.
   */
  unread?: { reason: string; why: 'broken' | 'foreign' | 'large' };
};

export type Reading = {
  /** From the first packet to the end of the last; null where that was not found out. */
  seconds: number | null;
  package: Package | null;
  /** Why a video was not packaged. */
  problem: string | null;
};
