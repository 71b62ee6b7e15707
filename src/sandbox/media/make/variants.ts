import type { Extras } from '../../store/extras.ts';
import { input } from '../ffmpeg/ffmpeg.ts';
import { assertMade, type Workshop } from '../ffmpeg/workshop.ts';
import { type Size, scaleTo, within } from '../recognize/dimensions.ts';

const longerSides = [1920, 1280, 640, 320];
/** Size at which transparency is detected; large enough for rounded corners. */
const alphaSide = 320;

/** Maximum side of the full-size variant that replaces the source. */
const mostSide = 4096;

/**
 * Creates smaller variants of an image: JPEG, or PNG if it has transparency. If browsers cannot
 * display the source, also a full-size one.
 */
export async function makeVariants(
  shop: Workshop,
  size: Size,
  isShown: boolean,
): Promise<Extras['variants']> {
  const side = Math.max(size.width, size.height);
  const smaller = longerSides.filter((each) => each < side);
  const sides = isShown ? smaller : [Math.min(side, mostSide), ...smaller];
  if (sides.length === 0) return [];
  const isTransparent = await hasTransparency(shop, size);
  const variants = sides.map((side) => ({
    file: `variant-${side}.${isTransparent ? 'png' : 'jpg'}`,
    ...within(side, size),
  }));
  const codec = isTransparent
    ? ['-c:v', 'png', '-pix_fmt', 'rgba']
    : ['-c:v', 'mjpeg', '-q:v', '4'];
  const frame = ['-frames:v', '1', '-f', 'image2', '-update', '1'];
  await shop.run([
    ...input(shop.source),
    ...variants.flatMap((variant) => [
      ...['-map', '0:v:0', '-vf', scaleTo(variant), ...frame, ...codec, variant.file],
    ]),
  ]);
  await assertMade(
    shop.folder,
    variants.map(({ file }) => file),
  );
  return variants;
}

/** Returns true if any pixel is transparent; ffmpeg treats images without alpha as opaque. */
async function hasTransparency({ source, run }: Workshop, size: Size): Promise<boolean> {
  const filters = [scaleTo(within(alphaSide, size)), 'format=rgba', 'alphaextract'].join(',');
  const alpha = await run([
    ...input(source),
    ...['-map', '0:v:0', '-vf', filters, '-frames:v', '1', '-f', 'rawvideo', '-'],
  ]);
  return alpha.some((opacity) => opacity < 255);
}
