import { type Colour, indexedPng } from './png.ts';

const [width, height] = [640, 360];
const margin = 24;
const [ground, wave]: Colour[] = [
  [19, 20, 23],
  [125, 184, 255],
];

/** Draws a waveform as PNG: `peaks` (0 to 1) from left to right, mirrored at the middle. */
export function wavePicture(peaks: readonly number[]): Buffer {
  const across = width - 2 * margin;
  const half = height / 2;
  return indexedPng(width, height, [ground as Colour, wave as Colour], (x, y) => {
    if (x < margin || x >= width - margin) return 0;
    const peak = peaks[Math.floor(((x - margin) * peaks.length) / across)] ?? 0;
    const reach = Math.max(1, peak * (half - margin));
    return Math.abs(y + 0.5 - half) < reach ? 1 : 0;
  });
}
