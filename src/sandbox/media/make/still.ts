import { inputArgs } from '../ffmpeg/ffmpeg.ts';
import { assertOutputs, type FfmpegContext } from '../ffmpeg/ffmpeg-context.ts';
import { type Dimensions, fitWithin, scaleTo } from '../recognize/dimensions.ts';

const longerSide = 640;

/** Extracts the first frame of an animated image as a PNG, which preserves transparency. */
export async function makeStill(context: FfmpegContext, size: Dimensions): Promise<string> {
  const file = 'still.png';
  await context.run([
    ...inputArgs(context.source),
    ...['-map', '0:v:0', '-vf', scaleTo(fitWithin(longerSide, size)), '-frames:v', '1'],
    ...['-c:v', 'png', '-f', 'image2', '-update', '1', file],
  ]);
  await assertOutputs(context.folder, [file]);
  return file;
}
