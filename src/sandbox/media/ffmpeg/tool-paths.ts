/** Paths of optional programs, each undefined if it is missing. */
export type ToolPaths = { ffmpeg: string | undefined; pdftoppm: string | undefined };

const ffmpegFeatures = [
  ...['thumbnails', 'preview sprites', 'waveforms', 'smaller variants of images', 'subtitles'],
  'a second step of HLS',
  'and whatever browsers do not play of themselves',
];
const pdftoppmFeatures = ['page thumbnails of PDFs'];

/** Returns the features that are unavailable because the path of ffmpeg or pdftoppm is undefined. */
export const listMissingFeatures = ({ ffmpeg, pdftoppm }: ToolPaths): string[] => [
  ...(ffmpeg === undefined ? ffmpegFeatures : []),
  ...(pdftoppm === undefined ? pdftoppmFeatures : []),
];

/** Returns a log line with the paths of the programs and the features that are missing. */
export const describeTools = ({ ffmpeg, pdftoppm }: ToolPaths): string =>
  [
    ffmpeg === undefined ? `no ffmpeg: assets go without ${ffmpegFeatures.join(', ')}` : `ffmpeg: ${ffmpeg}`,
    pdftoppm === undefined ? `no pdftoppm: assets go without ${pdftoppmFeatures.join(', ')}` : `pdftoppm: ${pdftoppm}`,
  ].join('; ');
