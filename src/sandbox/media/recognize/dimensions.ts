/** Display size in pixels, after rotation and with square pixels. */
export type Dimensions = { width: number; height: number };

/**
 * Scales a size down to fit into a square, keeping the aspect ratio; never enlarges. Rounds the sides to multiples of
 * `step`, which is 2 for video, as 4:2:0 requires.
 */
export function fitWithin(maxSide: number, { width, height }: Dimensions, step = 1): Dimensions {
  const factor = Math.min(1, maxSide / Math.max(width, height));
  const scaled = (side: number) => Math.max(1, Math.round((side * factor) / step)) * step;
  return { width: scaled(width), height: scaled(height) };
}

export const scaleTo = ({ width, height }: Dimensions) => `scale=${width}:${height},setsar=1`;
