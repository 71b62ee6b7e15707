import type { Dimensions } from '../recognize/dimensions.ts';

/** A media playlist and the properties of its stream. */
export type Rendition = {
  /** File name of the playlist, in the folder of its header and segments. */
  playlist: string;
  /** Codec names as in RFC 6381. */
  codecs: string[];
  /** Bit rates in bits per second. */
  peak: number;
  average: number;
  /** Display size; null without video. */
  size: Dimensions | null;
};

/** An audio rendition with its own playlist, such as one per language. */
export type AudioRendition = Rendition & {
  /** ISO 639-2/T language code; `und` if unknown. */
  language: string;
  name: string | null;
  channels: number;
};

/**
 * A file packaged as HLS: the main playlist, and the audio playlists unless audio is in the same
 * segments.
 */
export type HlsPackage = {
  main: Rendition;
  sounds: AudioRendition[];
  /** Segment starts in seconds, without the first. */
  cuts: number[];
  /** Start in file time and duration, in seconds. */
  beginsAt: number;
  seconds: number;
};
