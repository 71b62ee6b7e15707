import { input } from '../ffmpeg/ffmpeg.ts';
import { assertMade, type Workshop } from '../ffmpeg/workshop.ts';
import { type Size, scaleTo, within } from '../recognize/dimensions.ts';

const longerSide = 640;

/** Extracts the first frame of an animated image, as PNG to preserve transparency. */
export async function makeStill(shop: Workshop, size: Size): Promise<string> {
  const file = 'still.png';
  await shop.run([
    ...input(shop.source),
    ...['-map', '0:v:0', '-vf', scaleTo(within(longerSide, size)), '-frames:v', '1'],
    ...['-c:v', 'png', '-f', 'image2', '-update', '1', file],
  ]);
  await assertMade(shop.folder, [file]);
  return file;
}
