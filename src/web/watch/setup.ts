import type { MediaUrl } from '../shared/media-url.ts';
import type { PlayerChapter } from './chapters.ts';

/** Id of the element that holds the script's configuration as JSON. */
export const playerSetupId = 'player-setup';

/** Configuration that the markup passes to the player script. */
export type PlayerSetup = {
  hls?: MediaUrl | undefined;
  file?: MediaUrl | undefined;
  /** WebVTT files; the language is a BCP 47 tag. */
  subtitles?: (MediaUrl & { label: string; language: string })[] | undefined;
  chapters?: readonly PlayerChapter[] | undefined;
  /** Waveform of audio: JSON or an image (A14). */
  waveform?: MediaUrl | undefined;
  /** Preview sprites of a video: WebVTT cues that refer to rectangles in sprite sheets. */
  sprites?: MediaUrl | undefined;
  /** Document to embed in a frame, if the browser can display it. */
  document?: (MediaUrl & { contentType: string; title: string }) | undefined;
  autoPlay: boolean;
  /** Start position in seconds. */
  resumeAt: number;
  position?: PositionReport | undefined;
};

/** Endpoint for the playback position, and the playback token that authorizes it. */
export type PositionReport = { url: string; playbackToken: string };
