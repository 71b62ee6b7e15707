import { fieldsIn, isFields, listIn, numberIn } from '../../../contract/reading.ts';

/** More than any screen has columns for. */
const maxPeaks = 2000;

/**
 * How loud a sound is from its beginning to its end, each 0 to 1, in whichever form a service tells it
 * (A14); undefined for what is none of them.
 */
export function peaksOf(waveform: unknown): number[] | undefined {
  const { peaks, data, bits, channels } = fieldsIn(waveform);
  const levels =
    isFields(waveform) && data !== undefined
      ? ofPairs(numbersIn(data), numberIn(bits) ?? 0, numberIn(channels) ?? 1)
      : numbersIn(isFields(waveform) ? peaks : waveform);
  if (!levels || levels.length === 0 || levels.some((level) => level < 0)) return undefined;
  // Some count to 100 or 255.
  const loudest = levels.reduce((most, level) => Math.max(most, level), 1);
  return louder(
    levels.map((level) => level / loudest),
    Math.min(maxPeaks, levels.length),
  );
}

/** As many peaks as that, each the loudest of those that it stands for. */
export const louder = (peaks: readonly number[], count: number): number[] =>
  Array.from({ length: count }, (_, at) => {
    const from = Math.floor((at * peaks.length) / count);
    const to = Math.max(from + 1, Math.floor(((at + 1) * peaks.length) / count));
    return peaks.slice(from, to).reduce((most, peak) => Math.max(most, peak), 0);
  });

/** All of them, or none: with gaps it would be another sound's. */
function numbersIn(list: unknown): number[] | undefined {
  const numbers = listIn(list).map(numberIn);
  return numbers.every((number) => number !== undefined) ? numbers : undefined;
}

/** audiowaveform: the least and the greatest sample of each part, channel by channel. */
function ofPairs(
  samples: readonly number[] | undefined,
  bits: number,
  channels: number,
): number[] | undefined {
  const isKnown = (bits === 8 || bits === 16) && Number.isInteger(channels) && channels > 0;
  if (!samples || !isKnown) return undefined;
  const most = 2 ** (bits - 1);
  const loudness = samples.map((sample) => Math.min(1, Math.abs(sample) / most));
  return louder(loudness, Math.floor(samples.length / (2 * channels)));
}
