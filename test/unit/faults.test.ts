import { describe, expect, it } from 'vitest';
import { parseFault } from '../../src/sandbox/faults/parse.ts';

describe('--fault, read', () => {
  it.each([
    ['cut-after=20MiB,times=2', { name: 'cut-after', bytes: 20 * 1024 * 1024, times: 2 }],
    ['silent-after=512KiB', { name: 'silent-after', bytes: 524_288 }],
    ['cut-after=100,path=/upload/', { bytes: 100, path: '/upload/' }],
    ['rate-limit=5/10s', { limit: 5, windowSeconds: 10 }],
    ['rate-limit=0/500ms', { limit: 0, windowSeconds: 0.5 }],
    ['status=503,path=/upload/,times=1', { status: 503, path: '/upload/', times: 1 }],
    ['status=429,times=3,method=PATCH', { status: 429, method: 'PATCH', times: 3 }],
    ['latency=200ms', { delayMs: 200, times: Number.POSITIVE_INFINITY }],
    ['latency=2m,path=/media/', { delayMs: 120_000, path: '/media/' }],
    ['expire-sessions', { name: 'expire-sessions' }],
    ['no-head-length', { isOn: true }],
    ['no-head-length=off', { isOn: false }],
    ['lost-answer,method=POST', { name: 'lost-answer', method: 'POST' }],
  ])('%s', (spec, expected) => {
    expect(parseFault(spec)).toMatchObject({ spec, ...expected });
  });

  it.each([
    ['cut-aftr=1', /no fault 'cut-aftr'; there are cut-after=SIZE, .*lost-answer$/],
    ['constructor', /no fault 'constructor'/],
    ['', /no fault ''/],
    ['cut-after', /'cut-after' is not understood; it is written cut-after=SIZE\[,path=/],
    ['cut-after=20MB', /'cut-after=20MB' is not/],
    ['cut-after=-1', /'cut-after=-1' is not/],
    ['cut-after=1,method=GET', /'method=GET' is not/],
    ['cut-after=1,', /'' is not/],
    ['cut-after=1,times=0', /'times=0' is not/],
    ['cut-after=1,times=1,times=2', /'times=2' is not/],
    ['status=200', /'status=200' is not/],
    ['status=503,path=upload', /'path=upload' is not/],
    ['status=503,method=patch', /'method=patch' is not/],
    ['latency=200', /'latency=200' is not/],
    ['rate-limit=5', /'rate-limit=5' is not/],
    ['rate-limit=5/0s', /'rate-limit=5\/0s' is not/],
    ['bad-checksum=yes', /'bad-checksum=yes' is not/],
    ['bad-checksum=', /'bad-checksum=' is not/],
    ['expire-sessions,path=/upload/', /'path=\/upload\/' is not/],
    ['no-head-length=maybe', /'no-head-length=maybe' is not/],
  ])('%s is refused in one line that names the part', (spec, reason) => {
    expect(() => parseFault(spec)).toThrow(reason);
    expect(() => parseFault(spec)).toThrow(/^--fault '[^\n]*$/);
  });
});
