import type { Dimensions } from '../recognize/dimensions.ts';

/** A media playlist and the properties of its stream. */
export type Rendition = {
  /** File name of the playlist, which is in the same folder as its header and segments. */
  playlist: string;
  /** RFC 6381 codec names. */
  codecs: string[];
  /** Bit rates in bits per second. */
  peak: number;
  average: number;
  /** Display size; null for audio. */
  size: Dimensions | null;
};

/** An audio rendition with its own playlist, such as one per language. */
export type AudioRendition = Rendition & {
  /** ISO 639-2/T language code; `und` if unknown. */
  language: string;
  name: string | null;
  channels: number;
};

/** A file packaged as HLS. `sounds` is empty if audio is in the segments of the main playlist. */
export type HlsPackage = {
  main: Rendition;
  sounds: AudioRendition[];
  /** Start of each segment except the first, in seconds. */
  cuts: number[];
  /** Timestamp of the first video frame in the source, and duration of the package, in seconds. */
  beginsAt: number;
  seconds: number;
};
