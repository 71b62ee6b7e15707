import { Chalk } from 'chalk';
import { describe, expect, it } from 'vitest';
import { TransferRate } from '../../src/cli/progress/run-stats.ts';
import { renderTransferLine } from '../../src/cli/progress/status-lines.ts';

const mebibyte = 1024 * 1024;
const noColors = new Chalk({ level: 0 });
const halfSent = {
  acknowledged: 256 * mebibyte,
  sent: 512 * mebibyte,
  size: 1024 * mebibyte,
  rate: '112.4 MiB/s',
  left: 'ETA 12:07:55',
};

describe('progress line', () => {
  it('the progress line is never wider than the terminal and always shows the time left', () => {
    for (let columns = 20; columns <= 200; columns++) {
      const line = renderTransferLine(halfSent, columns, noColors);
      expect(line.length).toBeLessThanOrEqual(columns);
      expect(line).toContain('ETA 12:07:55');
    }
  });

  it('a wide progress line shows percentage, bytes, rate, and a bar of acknowledged and sent bytes', () => {
    const lineOfWidth = (columns: number) => renderTransferLine(halfSent, columns, noColors);
    expect(lineOfWidth(40)).toBe('  ████▒▒▒▒▒░░░░░░░░░   50%  ETA 12:07:55');
    expect(lineOfWidth(80)).toBe('  █████▒▒▒▒▒▒░░░░░░░░░░░░   50%  512.0 MiB of 1.0 GiB  112.4 MiB/s  ETA 12:07:55');
    expect(lineOfWidth(120)).toContain(`${'█'.repeat(10)}${'▒'.repeat(10)}${'░'.repeat(20)}`);
  });

  it('the progress line shows 100% only after the last byte is acknowledged', () => {
    const allSent = { ...halfSent, sent: halfSent.size };
    expect(renderTransferLine(allSent, 80, noColors)).toContain(' 99%');
    expect(renderTransferLine({ ...allSent, acknowledged: halfSent.size }, 80, noColors)).toContain('100%');
  });

  it('the progress line shows only bytes and rate when the size is unknown', () => {
    const unknown = { acknowledged: 5, sent: 5, size: 0, rate: '1 B/s', left: '' };
    expect(renderTransferLine(unknown, 80, noColors).trim()).toMatch(/^5 B +1 B\/s$/);
  });
});

describe('transfer rate', () => {
  const rateOfSamples = (...samples: [at: number, count: number][]) => {
    const rate = new TransferRate();
    for (const [at, count] of samples) rate.add(count, at);
    return rate;
  };

  it('the transfer rate is the average of the last seconds', () => {
    const slowThenFast = Array.from({ length: 60 }, (_, n): [number, number] => [
      n * 500,
      n < 40 ? n : 40 + (n - 40) * 1000,
    ]);
    expect(rateOfSamples(...slowThenFast).bytesPerSecond(59 * 500)).toBeCloseTo(2000, -2);
  });

  it('the transfer rate falls while nothing is sent, and is unknown after a reset', () => {
    const rate = rateOfSamples([0, 0], [1000, 4000], [2000, 8000]);
    expect(rate.bytesPerSecond(2000)).toBe(4000);
    expect(rate.bytesPerSecond(8000)).toBe(1000);
    rate.reset();
    expect([rate.formatRate(8000), rate.formatTimeLeft(10, 8000)]).toEqual(['', '']);
  });

  it('the transfer rate needs a second of samples, and the time left is never 0s', () => {
    const rate = rateOfSamples([0, 0], [900, 4000]);
    expect(rate.bytesPerSecond(900)).toBeUndefined();
    rate.add(8000, 2000);
    expect(rate.formatTimeLeft(1, 2000)).toBe('ETA 1s');
  });
});
