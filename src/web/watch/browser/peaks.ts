import { asArray, asNumber, asObject, isJsonObject } from '../../../shared/json-values.ts';

const maxPeaks = 2000; // more than a screen can show

/** Parses a waveform in any known format (assumption A14). Returns peaks from 0 to 1 in time order. */
export function parsePeaks(waveform: unknown): number[] | undefined {
  const { peaks, data, bits, channels } = asObject(waveform);
  const levels =
    isJsonObject(waveform) && data !== undefined
      ? peaksFromMinMax(parseNumbers(data), asNumber(bits) ?? 0, asNumber(channels) ?? 1)
      : parseNumbers(isJsonObject(waveform) ? peaks : waveform);
  if (!levels || levels.length === 0 || levels.some((level) => level < 0)) return undefined;
  // Normalizes scales such as 0 to 100 or 0 to 255.
  const loudest = levels.reduce((most, level) => Math.max(most, level), 1);
  return downsamplePeaks(
    levels.map((level) => level / loudest),
    Math.min(maxPeaks, levels.length),
  );
}

/** Downsamples to `count` peaks. Each is the maximum of the peaks that it replaces. */
export const downsamplePeaks = (peaks: readonly number[], count: number): number[] =>
  Array.from({ length: count }, (_, at) => {
    const from = Math.floor((at * peaks.length) / count);
    const to = Math.max(from + 1, Math.floor(((at + 1) * peaks.length) / count));
    return peaks.slice(from, to).reduce((most, peak) => Math.max(most, peak), 0);
  });

/** Parses a list of numbers. Returns undefined if any number is invalid, because a gap would distort the waveform. */
function parseNumbers(list: unknown): number[] | undefined {
  const numbers = asArray(list).map(asNumber);
  return numbers.every((number) => number !== undefined) ? numbers : undefined;
}

/**
 * Converts the output of audiowaveform(1), the minimum and the maximum sample of each segment and channel, to one peak
 * per segment, from 0 to 1. Returns undefined if its format is unknown.
 */
function peaksFromMinMax(samples: readonly number[] | undefined, bits: number, channels: number): number[] | undefined {
  const isKnown = (bits === 8 || bits === 16) && Number.isInteger(channels) && channels > 0;
  if (!samples || !isKnown) return undefined;
  const maxSample = 2 ** (bits - 1);
  const loudness = samples.map((sample) => Math.min(1, Math.abs(sample) / maxSample));
  return downsamplePeaks(loudness, Math.floor(samples.length / (2 * channels)));
}
