/**
 * What was made of an asset beside its HLS: names of files in the asset's folder of extras. What
 * shows or plays instead of the source does so where browsers do not know the source's own kind.
 */
export type Extras = {
  /** A frame of a video, the cover of a song or its waveform, a still of an image that moves. */
  thumbnail: string | null;
  /** WebVTT; it names the sheets. */
  sprites: string | null;
  waveform: string | null;
  /** Of an image, the largest first; smaller than the source, or in its place. */
  variants: { file: string; width: number; height: number }[];
  /** Sound that plays in the source's place. */
  audio: string | null;
  /** WebVTT; the language as BCP 47 has it, `und` where it is not told. */
  subtitles: { file: string; label: string; language: string }[];
  /** Pictures of a document's pages, from the first on. */
  pages: string[];
};

/** The thumbnail of a sound without a cover: its waveform. */
export const wavePictureFile = 'wave.png';

export const noExtras: Extras = {
  thumbnail: null,
  sprites: null,
  waveform: null,
  variants: [],
  audio: null,
  subtitles: [],
  pages: [],
};

/** From the column: empty for assets that nothing was made of. */
export const parseExtras = (column: string): Extras => ({ ...noExtras, ...JSON.parse(column) });
