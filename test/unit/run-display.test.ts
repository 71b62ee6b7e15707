import { Chalk } from 'chalk';
import { describe, expect, it } from 'vitest';
import { linesOf } from '../../src/cli/progress/live-lines.ts';
import {
  applyEvent,
  emptyState,
  hasSent,
  hasUnsent,
  type ShownEvent,
  TransferRate,
} from '../../src/cli/progress/run-state.ts';
import { totalsOf, transferLine } from '../../src/cli/progress/run-words.ts';
import { CodedError } from '../../src/client/errors.ts';
import type { FileEvent } from '../../src/client/upload/session/events.ts';
import { createOutcome, plannedStop } from '../../src/client/upload/session/file-outcome.ts';

const mebibyte = 1024 * 1024;

/** Returns the state after events, of which each comes a second after the one before. */
function stateAfter(...events: ShownEvent[]) {
  const state = emptyState();
  for (const [second, event] of events.entries()) applyEvent(state, event, second * 1000);
  return state;
}

const planned = (files: number, bytes: number, skipped = 0) =>
  ({ event: 'planned', files_total: files, bytes_total: bytes, files_skipped: skipped }) as const;
const started = (path: string, size: number) => ({ event: 'started', path, size_bytes: size }) as const;
const sent = (path: string, size: number, bytes: number, acknowledged = bytes): FileEvent => ({
  ...{ event: 'progress', path, size_bytes: size },
  ...{ bytes_sent: bytes, offset_bytes: acknowledged },
});
const finished = (path: string, outcome: 'uploaded' | 'failed') =>
  ({ event: 'finished', path, outcome, asset_uid: null }) as const;
const waitUntil = (ms: number): FileEvent => ({
  ...{ event: 'waiting', path: '', kind: 'rate_limited' },
  ...{ until: new Date(ms).toISOString(), reason: 'rate limit reached: 10 of 100 requests are kept' },
});

const draw = (state: ReturnType<typeof emptyState>, columns = 80, now = 10_000) =>
  linesOf(state, { columns, now, colors: new Chalk({ level: 0 }), spinner: '*' });

describe('state of a run', () => {
  it('a run of several files counts finished files, failures and bytes, also of those in flight', () => {
    const state = stateAfter(
      planned(3, 300),
      started('a', 100),
      started('b', 100),
      finished('a', 'uploaded'),
      sent('b', 100, 50),
      finished('c', 'failed'),
    );
    expect(totalsOf(state, 5000, undefined)).toEqual(['2 of 3 files', '1 failed', '150 B of 300 B']);
    expect([...state.inFlight.keys()]).toEqual(['b']);
    expect(state.startedAt).toBe(1000);
  });

  it('files that are uploaded already make a run one of several files', () => {
    expect(stateAfter(planned(1, 100)).isBatch).toBe(false);
    expect(stateAfter(planned(1, 100, 1)).isBatch).toBe(true);
  });

  it('an uploaded asset is processing until its status is ready', () => {
    const uploaded = { event: 'uploaded', path: 'a', asset_uid: 'uid', blake3: '', verified: true } as const;
    const state = stateAfter(planned(2, 10), started('a', 10), uploaded, finished('a', 'uploaded'));
    expect(totalsOf(state, 4000, undefined)).toContain('1 processing');
    applyEvent(state, { event: 'status', path: 'a', asset_uid: 'uid', status: 'ready' }, 5000);
    expect(totalsOf(state, 5000, undefined)).not.toContain('1 processing');
  });

  it('outcomes count as sent and unsent: a failed file does, a file that another run uploads too, a planned stop not as a failure', () => {
    const file = { path: 'a', filename: 'a', relativeDir: '' };
    const withOutcome = (result: Parameters<typeof createOutcome>[1]) =>
      stateAfter({ event: 'outcomes', outcomes: [createOutcome(file, result)] });
    const failed = withOutcome({ error: new CodedError('it failed', { code: 'usage' }) });
    expect([failed.failures.length, hasSent(failed), hasUnsent(failed)]).toEqual([1, false, true]);
    expect(hasUnsent(withOutcome({ isBusy: true }))).toBe(true);
    const stopped = withOutcome({ error: plannedStop('stopped at 06:00') });
    expect([stopped.failures, stopped.outcomes.interrupted]).toEqual([[], 1]);
    const queued = withOutcome({ jobId: '1' });
    expect([hasSent(queued), hasUnsent(queued), queued.files]).toEqual([true, false, 1]);
    expect(withOutcome({ leftBy: 'rsync' }).files).toBe(0);
  });
});

describe('live display', () => {
  const half = stateAfter(started('a', 1024 * mebibyte), sent('a', 1024 * mebibyte, 512 * mebibyte, 256 * mebibyte));

  it('the line of a file has a bar of acknowledged and sent bytes, and is never wider than the terminal', () => {
    expect(draw(half, 80)).toEqual(['  ██████████▒▒▒▒▒▒▒▒▒▒░░░░░░░░░░░░░░░░░░░░   50%  512.0 MiB of 1.0 GiB']);
    for (let columns = 20; columns <= 200; columns++)
      expect(draw(half, columns)[0]?.length).toBeLessThanOrEqual(columns);
  });

  it('a narrow line drops the figures that do not fit, but never the time left', () => {
    const size = 5 * mebibyte;
    const state = stateAfter(started('a', size), sent('a', size, mebibyte), sent('a', size, 2 * mebibyte));
    expect(draw(state, 80, 2000)).toEqual([
      '  ██████████░░░░░░░░░░░░░░░░░   40%  2.0 MiB of 5.0 MiB    1.0 MiB/s      ETA 3s',
    ]);
    expect(draw(state, 40, 2000)).toEqual(['  ██░░░░░   40%    1.0 MiB/s      ETA 3s']);
    expect(draw(state, 20, 2000)[0]).toContain('ETA 3s');
  });

  it('a file is at 100% only after its last byte is acknowledged', () => {
    expect(draw(stateAfter(started('a', 9), sent('a', 9, 9, 8)))[0]).toContain(' 99%');
    expect(draw(stateAfter(started('a', 9), sent('a', 9, 9)))[0]).toContain('100%');
  });

  it('a file of unknown size shows bytes and rate only', () => {
    const state = stateAfter(started('a', 0), sent('a', 0, 5), sent('a', 0, 10));
    expect(draw(state, 80, 2000)[0]?.trim()).toMatch(/^10 B +5 B\/s$/);
  });

  it('a wait has a line with its reason and its end, during which there is neither a rate nor a time left', () => {
    const state = stateAfter(started('a', 100), sent('a', 100, 10), sent('a', 100, 20), waitUntil(63_000));
    const [bar, wait] = draw(state, 60, 3000);
    expect(bar).not.toMatch(/ETA|\/s/);
    expect(wait).toBe('  rate limit reached: retrying in 1:00');
    expect(draw(stateAfter(waitUntil(63_000)), 60, 3000)).toEqual(['  rate limit reached: retrying in 1:00']);
    applyEvent(state, { event: 'requests_resumed', path: '' }, 4000);
    expect(draw(state, 60, 4000)).toHaveLength(1);
  });

  it('several files have a line of totals, and one for each file in flight, cut at the start', () => {
    const state = stateAfter(
      planned(9, 100),
      started('a/long/path/of/clip.mov', 50),
      sent('a/long/path/of/clip.mov', 50, 25),
    );
    expect(draw(state, 30)).toEqual(['0 of 9 files · 25 B of 100 B', '  …h/of/clip.mov   50% of 50 B']);
    const many = Array.from({ length: 20 }, (_, n) => started(String(n), 1));
    expect(draw(stateAfter(planned(20, 20), ...many))).toHaveLength(9);
  });

  it('the status of an asset that is processed has a spinner and the time since it began', () => {
    const state = stateAfter({ event: 'status', path: 'a\u001b', asset_uid: 'uid', status: 'processing' });
    expect(draw(state, 80, 65_000)).toEqual(['* a\\u001b: processing  1:05']);
    expect(draw(stateAfter({ event: 'awaited', text: '3 of 9 ready' }), 80, 0)).toEqual(['* 3 of 9 ready']);
  });
});

it('the line of a log says how far a file is, and what the service has acknowledged', () => {
  const state = stateAfter(started('a', 100), sent('a', 100, 50, 25));
  expect(transferLine(state, 'a', 1000)).toBe('50 B of 100 B, 25 B acknowledged');
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
    expect([rate.bytesPerSecond(8000), rate.secondsFor(10, 8000)]).toEqual([undefined, undefined]);
  });

  it('the transfer rate needs a second of samples, and the time left is never 0s', () => {
    const rate = rateOfSamples([0, 0], [900, 4000]);
    expect(rate.bytesPerSecond(900)).toBeUndefined();
    rate.add(8000, 2000);
    expect(rate.secondsFor(1, 2000)).toBe(1);
  });
});
