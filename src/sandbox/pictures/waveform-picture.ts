import { PNG } from 'pngjs';

const [width, height] = [640, 360];
const margin = 24;
/** Colors as RGBA. */
const [background, foreground] = [0x131417ff, 0x7db8ffff];

/** Draws a waveform as a PNG: `peaks` (0 to 1) from left to right, mirrored at half the height. */
export function drawWaveform(peaks: readonly number[]): Buffer {
  const picture = new PNG({ width, height });
  const half = height / 2;
  for (let x = 0; x < width; x++) {
    const isInside = x >= margin && x < width - margin;
    const peak = peaks[Math.floor(((x - margin) * peaks.length) / (width - 2 * margin))] ?? 0;
    const reach = isInside ? Math.max(1, peak * (half - margin)) : 0;
    for (let y = 0; y < height; y++) {
      const color = Math.abs(y + 0.5 - half) < reach ? foreground : background;
      picture.data.writeUInt32BE(color, 4 * (y * width + x));
    }
  }
  return PNG.sync.write(picture, { colorType: 2 });
}
