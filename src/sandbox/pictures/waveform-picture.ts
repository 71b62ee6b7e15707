import { type Color, encodeIndexedPng } from './png.ts';

const [width, height] = [640, 360];
const margin = 24;
const [ground, wave]: Color[] = [
  [19, 20, 23],
  [125, 184, 255],
];

/** Draws a waveform as a PNG: `peaks` (0 to 1) from left to right, mirrored at half the height. */
export function drawWaveform(peaks: readonly number[]): Buffer {
  const across = width - 2 * margin;
  const half = height / 2;
  return encodeIndexedPng(width, height, [ground as Color, wave as Color], (x, y) => {
    if (x < margin || x >= width - margin) return 0;
    const peak = peaks[Math.floor(((x - margin) * peaks.length) / across)] ?? 0;
    const reach = Math.max(1, peak * (half - margin));
    return Math.abs(y + 0.5 - half) < reach ? 1 : 0;
  });
}
