/** Names of an asset's derived files. Variants and audio replace a source that browsers cannot show or play. */
export type DerivedFiles = typeof noDerivedFiles;

export const noDerivedFiles = {
  /** Frame of a video. */
  thumbnail: null as string | null,
  /** WebVTT file that refers to the sprite sheets. */
  sprites: null as string | null,
  waveform: null as string | null,
  /** Resized copies of an image, largest first. Includes a full-size copy if browsers cannot show the source. */
  variants: [] as { file: string; width: number; height: number }[],
  /** Audio file that is played instead of the source; null if the source is played. */
  audio: null as string | null,
  /** WebVTT files of audio. `language` is a BCP 47 tag, which is `und` if the language is unknown. */
  subtitles: [] as { file: string; label: string; language: string }[],
  /** Images of a document's pages, in order. */
  pages: [] as string[],
};

/** Parses the column `extras`, in which keys can be missing. */
export const parseDerivedFiles = (column: string): DerivedFiles => ({ ...noDerivedFiles, ...JSON.parse(column) });
