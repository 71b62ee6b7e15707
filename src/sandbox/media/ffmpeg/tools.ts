/** Paths of optional programs; undefined if missing. */
export type ToolPaths = { ffmpeg: string | undefined; pdftoppm: string | undefined };

const ffmpegMakes = [
  ...['thumbnails', 'preview sprites', 'waveforms', 'smaller variants of images', 'subtitles'],
  'a second step of HLS',
  'and whatever browsers do not play of themselves',
];
const pdftoppmMakes = ['page thumbnails of PDFs'];

/** Returns the features that are missing without these programs. */
export const leftOutWithout = ({ ffmpeg, pdftoppm }: ToolPaths): string[] => [
  ...(ffmpeg === undefined ? ffmpegMakes : []),
  ...(pdftoppm === undefined ? pdftoppmMakes : []),
];

/** Returns a line for the log. */
export const toolsInWords = ({ ffmpeg, pdftoppm }: ToolPaths): string =>
  [
    ffmpeg === undefined
      ? `no ffmpeg: assets go without ${ffmpegMakes.join(', ')}`
      : `ffmpeg: ${ffmpeg}`,
    pdftoppm === undefined
      ? `no pdftoppm: assets go without ${pdftoppmMakes.join(', ')}`
      : `pdftoppm: ${pdftoppm}`,
  ].join('; ');
