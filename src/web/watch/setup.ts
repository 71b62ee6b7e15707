import type { MediaUrl } from '../shared/media-url.ts';

/** Id of the element that holds the player script's configuration as JSON. */
export const playerSetupId = 'player-setup';

export type PlayerSetup = {
  /** Script that plays HLS, to load when it is needed; undefined if the document contains it. */
  hlsScript?: { url: string; integrity: string } | undefined;
  /** Duration in seconds, by the record of the asset. The media itself loads only when it is played. */
  duration?: number | undefined;
  hls?: MediaUrl | undefined;
  file?: MediaUrl | undefined;
  /** WebVTT files; `language` is a BCP 47 tag. */
  subtitles?: (MediaUrl & { label: string; language: string })[] | undefined;
  chapters?: readonly PlayerChapter[] | undefined;
  /** Waveform of an audio asset, as JSON or as an image (assumption A14). */
  waveform?: MediaUrl | undefined;
  /** WebVTT file whose cues refer to rectangles in sprite sheets. */
  sprites?: MediaUrl | undefined;
  /** Document to embed in a frame, if the browser can display its content type. */
  document?: (MediaUrl & { contentType: string; title: string }) | undefined;
  autoPlay: boolean;
  /** Start position in seconds. */
  resumeAt: number;
  position?: PositionReport | undefined;
};

/** Chapter; `start` is in seconds. */
export type PlayerChapter = { title: string; start: number };

/** Endpoint that stores the playback position. */
export type PositionReport = { url: string; playbackToken: string };
