import { inputArgs } from '../ffmpeg/ffmpeg.ts';
import { type FfmpegContext, hasOutput } from '../ffmpeg/ffmpeg-context.ts';
import { type Dimensions, fitWithin, scaleTo } from '../recognize/dimensions.ts';

const longerSide = 640;
const windowSeconds = 30;

/**
 * Returns ffmpeg filters that sample two frames per second, drop those that are nearly black and pick the most
 * typical one.
 */
const typicalFrameFilters = (scale: string) => [
  ...['fps=2', scale, 'blackframe=amount=0:threshold=32'],
  'metadata=mode=select:key=lavfi.blackframe.pblack:value=90:function=less',
  `thumbnail=n=${2 * windowSeconds}`,
];

/** Creates a thumbnail from the first 30 seconds. If all frames are black, uses the first frame. */
export async function makeThumbnail(context: FfmpegContext, size: Dimensions): Promise<string> {
  const file = 'thumbnail.jpg';
  const scale = scaleTo(fitWithin(longerSide, size));
  for (const filters of [typicalFrameFilters(scale), [scale]]) {
    await context.run([
      ...inputArgs(context.source, '-t', String(windowSeconds)),
      ...['-map', '0:V:0', '-vf', filters.join(','), '-frames:v', '1'],
      ...['-q:v', '4', '-f', 'mjpeg', file],
    ]);
    if (await hasOutput(context.folder, file)) return file;
  }
  throw new Error('there is no frame');
}
