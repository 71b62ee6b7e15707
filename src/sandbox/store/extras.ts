/** What ffmpeg made of an asset beside its HLS: names of files in the asset's folder of extras. */
export type Extras = {
  thumbnail: string | null;
  /** WebVTT; it names the sheets. */
  sprites: string | null;
  waveform: string | null;
  /** Smaller than the source, the largest first. */
  variants: { file: string; width: number; height: number }[];
};

export const noExtras: Extras = { thumbnail: null, sprites: null, waveform: null, variants: [] };

/** From the column: empty for assets that nothing was made of. */
export const parseExtras = (column: string): Extras => ({ ...noExtras, ...JSON.parse(column) });
