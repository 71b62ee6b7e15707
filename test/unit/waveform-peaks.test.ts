import { expect, it } from 'vitest';
import { downsamplePeaks, parsePeaks } from '../../src/web/watch/browser/peaks.ts';

it.each<[string, unknown, number[]]>([
  ['an object with peaks', { duration: 3, peaks: [0, 0.5, 1] }, [0, 0.5, 1]],
  ['a list of numbers and numeric strings', [0.25, '0.5'], [0.25, 0.5]],
  ['a list with values above 1', [0, 51, 255], [0, 0.2, 1]],
  ['8-bit audiowaveform data', { bits: 8, data: [-64, 32, -1, 127] }, [0.5, 127 / 128]],
  ['16-bit audiowaveform data', { bits: 16, data: [-8192, 0] }, [0.25]],
  ['two-channel audiowaveform data', { bits: 8, channels: 2, data: [-1, 1, -64, 1, 0, 0, 0, 32] }, [0.5, 0.25]],
])('parsePeaks returns the peaks of a waveform given as %s (A14)', (_, waveform, expected) => {
  expect(parsePeaks(waveform)).toEqual(expected);
});

it.each([
  ...[undefined, null, true, 7, 'peaks', '<b>', {}, [], { peaks: [] }, { peaks: '0.5' }],
  ...[[Number.NaN], [Number.POSITIVE_INFINITY], [0.5, null], [[0.5]], [{ peaks: [1] }], [-0.1]],
  ...[{ peaks: [1, -1] }, { peaks: { 0: 1 } }, { data: [1, 2] }, { bits: 64, data: [1, 2] }],
  ...[
    { bits: 8, data: [] },
    { bits: 8, data: [1] },
    { bits: 8, data: '12' },
  ],
  ...[0, -1, 0.5, 1e9].map((channels) => ({ bits: 8, channels, data: [1, 2] })),
])('parsePeaks rejects %j', (waveform) => {
  expect(parsePeaks(waveform)).toBeUndefined();
});

it('parsePeaks limits a waveform to 2,000 peaks and keeps the loudest', () => {
  const longWaveform = Array.from({ length: 500_000 }, (_, at) => (at === 250_001 ? 1 : 0.1));
  const peaks = parsePeaks(longWaveform) as number[];
  expect(peaks).toHaveLength(2000);
  expect(peaks.filter((peak) => peak === 1)).toHaveLength(1);
  expect(downsamplePeaks([0.1, 0.9], 4)).toEqual([0.1, 0.1, 0.9, 0.9]);
});
