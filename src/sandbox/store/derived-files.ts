/**
 * Files derived from an asset, other than HLS: names in its folder of derived files. Variants and
 * audio replace the source where browsers cannot show or play its format.
 */
export type DerivedFiles = {
  /** A video frame, the cover of a song or its waveform, or a still of an animated image. */
  thumbnail: string | null;
  /** WebVTT file that refers to the sprite sheets. */
  sprites: string | null;
  waveform: string | null;
  /**
   * Resized copies of an image, largest first; also a full-size copy if browsers cannot show the
   * source.
   */
  variants: { file: string; width: number; height: number }[];
  /** Audio that plays instead of the source. */
  audio: string | null;
  /** WebVTT files; `language` is a BCP 47 tag, `und` if unknown. */
  subtitles: { file: string; label: string; language: string }[];
  /** Images of a document's pages, in order. */
  pages: string[];
};

/** File name of the waveform image, the thumbnail of audio without a cover. */
export const waveformPictureFile = 'wave.png';

export const noDerivedFiles: DerivedFiles = {
  thumbnail: null,
  sprites: null,
  waveform: null,
  variants: [],
  audio: null,
  subtitles: [],
  pages: [],
};

/** Parses the column `extras`; fills missing keys with defaults. */
export const parseDerivedFiles = (column: string): DerivedFiles => ({
  ...noDerivedFiles,
  ...JSON.parse(column),
});
