/** Display size in pixels, after rotation and with square pixels. */
export type Dimensions = { width: number; height: number };

/** Scales a size down to fit into a square, keeping the aspect ratio; never enlarges. */
export const fitWithin = (side: number, size: Dimensions): Dimensions =>
  scaled(size, Math.min(1, side / Math.max(size.width, size.height)), 1);

/** Scales a size and rounds to even sides, as H.264 in 4:2:0 requires. */
export const scaledEven = (size: Dimensions, factor: number): Dimensions => scaled(size, factor, 2);

function scaled({ width, height }: Dimensions, factor: number, step: number): Dimensions {
  const side = (length: number) => Math.max(1, Math.round((length * factor) / step)) * step;
  return { width: side(width), height: side(height) };
}

/** Returns the ffmpeg filter that scales to a size. */
export const scaleTo = ({ width, height }: Dimensions) => `scale=${width}:${height},setsar=1`;
