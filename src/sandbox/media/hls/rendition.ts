import type { Size } from '../recognize/dimensions.ts';

/** One media playlist and what it holds. */
export type Rendition = {
  /** Name of its file, beside its header and segments. */
  playlist: string;
  /** As RFC 6381 names them. */
  codecs: string[];
  /** Bits a second. */
  peak: number;
  average: number;
  /** As displayed; null without a picture. */
  size: Size | null;
};

/** Sound that has a playlist of its own, as there is one for each of several languages. */
export type Sound = Rendition & {
  /** ISO 639-2/T; `und` where it is not told. */
  language: string;
  name: string | null;
  channels: number;
};

/** A file as HLS: a playlist, and its sounds where they are not in the same segments. */
export type Package = {
  main: Rendition;
  sounds: Sound[];
  /** Where the segments begin, but for the first; seconds. */
  cuts: number[];
  /** Where it begins in the time of the file, and how long it plays. */
  beginsAt: number;
  seconds: number;
};
