/** What the media worker is given, and what it answers. */
export type Task = { sourcePath: string; hlsDir: string; filename: string };

export type Inspection = Found | { outcome: 'failed'; reason: string };

export type Found = {
  outcome: 'ready';
  type: string;
  contentType: string;
  /** Seconds. */
  duration: number | null;
  width: number | null;
  height: number | null;
  hasHls: boolean;
  /** Whether players of HLS can play that: every track is in it, in a codec that HLS carries. */
  hlsIsWhole: boolean;
  chapters: { title: string; start_time: number }[];
  /** ffmpeg's name for the container that was recognised; null where it has nothing to do. */
  demuxer: string | null;
  /** Of the first audio track, in Hz; null without one. */
  sampleRate: number | null;
};
