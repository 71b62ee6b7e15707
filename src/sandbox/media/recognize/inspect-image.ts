import { readFile, stat } from 'node:fs/promises';
import { imageSize } from 'image-size';
import { imageSizeFromFile } from 'image-size/fromFile';
import type { Size } from './dimensions.ts';
import type { Broken, Found } from './inspection.ts';

/** What no camera makes, and no viewer shows. */
const mostPixels = 2 ** 32;

/** Common ones, which image-size reads if they are whole. */
const measured = new Set([
  ...['image/jpeg', 'image/png', 'image/apng', 'image/gif', 'image/webp', 'image/bmp'],
]);

/** An image's size; `unread` where a common kind of image cannot be read. */
export async function inspectImage(
  sourcePath: string,
  contentType: string,
): Promise<Pick<Found, 'width' | 'height' | 'unread'> | Broken> {
  try {
    const size = await sizeOf(sourcePath);
    if (!isAbsurd(size)) return size;
    const { width, height } = size;
    return { type: 'broken', reason: `an image of ${width} by ${height} pixels is none` };
  } catch (error) {
    const reason = `the image cannot be read: ${(error as Error).message}`;
    const unknown = { width: null, height: null }; // rarer ones, which others may read
    return measured.has(contentType) ? { ...unknown, unread: { reason, why: 'broken' } } : unknown;
  }
}

const isAbsurd = ({ width, height }: Size) =>
  width < 1 || height < 1 || width * height > mostPixels;

/** Larger images are not read whole for their size. */
const mostBytes = 64 * 1024 * 1024;

async function sizeOf(path: string): Promise<Size> {
  // Of a file, it reads half a megabyte, where metadata may stand in front of the size.
  const {
    width,
    height,
    orientation = 1,
  } = await imageSizeFromFile(path).catch(async (error) => {
    if ((await stat(path)).size > mostBytes) throw error;
    return imageSize(await readFile(path));
  });
  const size = { width: Math.round(width), height: Math.round(height) }; // SVG has fractions
  // EXIF: from 5 on it lies on its side, and whoever shows it turns it.
  return orientation < 5 ? size : { width: size.height, height: size.width };
}
