import { readFile, stat } from 'node:fs/promises';
import { imageSize } from 'image-size';
import { imageSizeFromFile } from 'image-size/fromFile';
import type { Dimensions } from './dimensions.ts';
import type { BrokenSource, InspectedSource } from './inspection-messages.ts';

/** Maximum number of pixels. A header that claims more is considered forged. */
const maxPixels = 2 ** 32;

/** Content types that the `image-size` package reads reliably. If it fails on one, the file is damaged. */
const measurableTypes = new Set([...['image/jpeg', 'image/png', 'image/apng', 'image/gif', 'image/webp', 'image/bmp']]);

/** Returns the size of an image, or why it is broken. Sets `unread` if an image of a common type cannot be read. */
export async function inspectImage(
  sourcePath: string,
  contentType: string,
): Promise<Pick<InspectedSource, 'width' | 'height' | 'unread'> | BrokenSource> {
  try {
    const size = await sizeOf(sourcePath);
    if (!hasImpossibleSize(size)) return size;
    const { width, height } = size;
    return { type: 'broken', reason: `an image of ${width} by ${height} pixels is none` };
  } catch (error) {
    const reason = `the image cannot be read: ${(error as Error).message}`;
    const unknown = { width: null, height: null }; // rare types, which ffmpeg might still read
    return measurableTypes.has(contentType) ? { ...unknown, unread: { reason, why: 'broken' } } : unknown;
  }
}

const hasImpossibleSize = ({ width, height }: Dimensions) => width < 1 || height < 1 || width * height > maxPixels;

/** Maximum size of an image file that is loaded into memory to find its dimensions. */
const maxInMemoryBytes = 64 * 1024 * 1024;

async function sizeOf(path: string): Promise<Dimensions> {
  // image-size reads only the first half megabyte of a file, but the dimensions can come later,
  // after the metadata.
  const {
    width,
    height,
    orientation = 1,
  } = await imageSizeFromFile(path).catch(async (error) => {
    if ((await stat(path)).size > maxInMemoryBytes) throw error;
    return imageSize(await readFile(path));
  });
  const size = { width: Math.round(width), height: Math.round(height) }; // SVG sizes may be fractional
  // EXIF orientations 5 to 8 are rotated by 90°.
  return orientation < 5 ? size : { width: size.height, height: size.width };
}
