import { imageSizeFromFile } from 'image-size/fromFile';
import type { Size } from './dimensions.ts';
import type { Broken, Found } from './inspection.ts';

/** What no camera makes, and no viewer shows. */
const mostPixels = 2 ** 32;

/** Common ones, which image-size reads if they are whole. */
const measured = new Set([
  ...['image/jpeg', 'image/png', 'image/apng', 'image/gif', 'image/webp', 'image/bmp'],
]);

export async function inspectImage(
  sourcePath: string,
  contentType: string,
): Promise<Pick<Found, 'width' | 'height'> | Broken> {
  const size = await sizeOf(sourcePath).catch((error: Error) => {
    if (measured.has(contentType)) return { type: 'broken', reason: unreadable(error) } as const;
    return { width: null, height: null }; // TIFF with its sizes at the end, and rarer ones
  });
  const { width, height } = { width: null, height: null, ...size };
  if (width !== null && height !== null && isAbsurd({ width, height }))
    return { type: 'broken', reason: `an image of ${width} by ${height} pixels is none` };
  return size;
}

const unreadable = ({ message }: Error) => `the image cannot be read: ${message}`;

const isAbsurd = ({ width, height }: Size) =>
  width < 1 || height < 1 || width * height > mostPixels;

async function sizeOf(path: string): Promise<Size> {
  const { width, height, orientation = 1 } = await imageSizeFromFile(path);
  const size = { width: Math.round(width), height: Math.round(height) }; // SVG has fractions
  // EXIF: from 5 on it lies on its side, and whoever shows it turns it.
  return orientation < 5 ? size : { width: size.height, height: size.width };
}
