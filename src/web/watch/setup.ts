import type { MediaUrl } from '../shared/media-url.ts';
import type { Chapter } from './chapters.ts';

/** What a page hands to the script in it, as JSON in an element of this id. */
export const setupId = 'player-setup';

export type Setup = {
  hls?: MediaUrl | undefined;
  file?: MediaUrl | undefined;
  /** WebVTT; the language as BCP 47 has it. */
  subtitles?: (MediaUrl & { label: string; language: string })[] | undefined;
  chapters?: readonly Chapter[] | undefined;
  /** Of a sound: JSON or a picture (A14). */
  waveform?: MediaUrl | undefined;
  /** Of a video: WebVTT that says which part of which sheet is the frame of a moment. */
  sprites?: MediaUrl | undefined;
  /** To be shown in a frame where the browser can. */
  document?: (MediaUrl & { contentType: string; title: string }) | undefined;
  autoPlay: boolean;
  /** Seconds. */
  resumeAt: number;
  position?: PositionReport | undefined;
};

/** Where the page tells how far somebody is, and the playback token that lets it. */
export type PositionReport = { url: string; playbackToken: string };
