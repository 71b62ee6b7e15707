/** Names of an asset's derived files. Variants and audio replace a source that browsers cannot show or play. */
export type DerivedFiles = {
  /** Frame of a video. */
  thumbnail: string | null;
  /** WebVTT file that refers to the sprite sheets. */
  sprites: string | null;
  waveform: string | null;
  /** Resized copies of an image, largest first. Includes a full-size copy if browsers cannot show the source. */
  variants: { file: string; width: number; height: number }[];
  /** Audio file that is played instead of the source; null if the source is played. */
  audio: string | null;
  /** WebVTT files of audio. `language` is a BCP 47 tag, which is `und` if the language is unknown. */
  subtitles: { file: string; label: string; language: string }[];
  /** Images of a document's pages, in order. */
  pages: string[];
};

export const noDerivedFiles: DerivedFiles = {
  thumbnail: null,
  sprites: null,
  waveform: null,
  variants: [],
  audio: null,
  subtitles: [],
  pages: [],
};

/** Parses the column `extras`, in which keys can be missing. */
export const parseDerivedFiles = (column: string): DerivedFiles => ({ ...noDerivedFiles, ...JSON.parse(column) });
