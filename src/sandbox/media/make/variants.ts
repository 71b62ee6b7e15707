import type { DerivedFiles } from '../../store/derived-files.ts';
import { inputArgs } from '../ffmpeg/ffmpeg.ts';
import { assertOutputs, type FfmpegContext } from '../ffmpeg/ffmpeg-context.ts';
import { type Dimensions, fitWithin, scaleTo } from '../recognize/dimensions.ts';

const variantSides = [1920, 1280, 640, 320];
/**
 * Longer side in pixels of the copy that is searched for transparency. At this size, even rounded corners remain
 * visible.
 */
const alphaSide = 320;

/** Maximum longer side in pixels of the full-size variant that replaces the source. */
const maxVariantSide = 4096;

/**
 * Creates smaller variants of an image as JPEG files, or as PNG files if it has transparency. If browsers cannot
 * display the source, also creates a full-size variant.
 */
export async function makeVariants(
  context: FfmpegContext,
  size: Dimensions,
  isShown: boolean,
): Promise<DerivedFiles['variants']> {
  const side = Math.max(size.width, size.height);
  const smaller = variantSides.filter((each) => each < side);
  const sides = isShown ? smaller : [Math.min(side, maxVariantSide), ...smaller];
  if (sides.length === 0) return [];
  const isTransparent = await hasTransparency(context, size);
  const variants = sides.map((side) => ({
    file: `variant-${side}.${isTransparent ? 'png' : 'jpg'}`,
    ...fitWithin(side, size),
  }));
  const codec = isTransparent ? ['-c:v', 'png', '-pix_fmt', 'rgba'] : ['-c:v', 'mjpeg', '-q:v', '4'];
  const frame = ['-frames:v', '1', '-f', 'image2', '-update', '1'];
  await context.run([
    ...inputArgs(context.source),
    ...variants.flatMap((variant) => [...['-map', '0:v:0', '-vf', scaleTo(variant), ...frame, ...codec, variant.file]]),
  ]);
  await assertOutputs(
    context.folder,
    variants.map(({ file }) => file),
  );
  return variants;
}

/** Returns true if any pixel is transparent; ffmpeg treats images without alpha as opaque. */
async function hasTransparency({ source, run }: FfmpegContext, size: Dimensions): Promise<boolean> {
  const filters = [scaleTo(fitWithin(alphaSide, size)), 'format=rgba', 'alphaextract'].join(',');
  const alpha = await run([
    ...inputArgs(source),
    ...['-map', '0:v:0', '-vf', filters, '-frames:v', '1', '-f', 'rawvideo', '-'],
  ]);
  return alpha.some((opacity) => opacity < 255);
}
