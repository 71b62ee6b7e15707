/** Pixels, as displayed: turned and with square pixels. */
export type Size = { width: number; height: number };

/** The same aspect within a square of that side; never larger than it is. */
export function within(side: number, { width, height }: Size): Size {
  const factor = Math.min(1, side / Math.max(width, height));
  return scaled({ width, height }, factor, 1);
}

/** H.264 in 4:2:0 has even sides only. */
export const scaledEven = (size: Size, factor: number): Size => scaled(size, factor, 2);

function scaled({ width, height }: Size, factor: number, step: number): Size {
  const side = (length: number) => Math.max(1, Math.round((length * factor) / step)) * step;
  return { width: side(width), height: side(height) };
}

/** ffmpeg's filter for it. */
export const scaleTo = ({ width, height }: Size) => `scale=${width}:${height},setsar=1`;
