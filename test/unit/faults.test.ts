import { describe, expect, it } from 'vitest';
import { parseFault } from '../../src/sandbox/faults/parse.ts';

describe('--fault parsing', () => {
  it.each([
    ['cut-after=20MiB,times=2', { name: 'cut-after', bytes: 20 * 1024 * 1024, times: 2 }],
    ['silent-after=512KiB', { name: 'silent-after', bytes: 524_288 }],
    ['cut-after=100,path=/upload/', { bytes: 100, path: '/upload/' }],
    ['status=503,path=/upload/,times=1', { status: 503, path: '/upload/', times: 1 }],
    ['status=429,times=3,method=PATCH', { status: 429, method: 'PATCH', times: 3 }],
    ['latency=200ms', { delayMs: 200, times: Number.POSITIVE_INFINITY }],
    ['latency=2m,path=/media/', { delayMs: 120_000, path: '/media/' }],
    ['expire-sessions', { name: 'expire-sessions' }],
    ['lost-answer,method=POST', { name: 'lost-answer', method: 'POST' }],
  ])('parses --fault %s', (spec, expected) => {
    expect(parseFault(spec)).toMatchObject({ spec, ...expected });
  });

  it.each([
    ['cut-aftr=1', /unknown fault 'cut-aftr'; the faults are cut-after=SIZE, .*lost-answer$/],
    ['constructor', /unknown fault 'constructor'/],
    ['', /unknown fault ''/],
    ['cut-after', /invalid 'cut-after'; the format is cut-after=SIZE\[,path=/],
    ['cut-after=20MB', /invalid 'cut-after=20MB'/],
    ['cut-after=-1', /invalid 'cut-after=-1'/],
    ['cut-after=1,method=GET', /invalid 'method=GET'/],
    ['cut-after=1,', /invalid ''/],
    ['cut-after=1,times=0', /invalid 'times=0'/],
    ['cut-after=1,times=1,times=2', /invalid 'times=2'/],
    ['status=200', /invalid 'status=200'/],
    ['status=503,path=upload', /invalid 'path=upload'/],
    ['status=503,method=patch', /invalid 'method=patch'/],
    ['latency=200', /invalid 'latency=200'/],
    ['bad-checksum=yes', /invalid 'bad-checksum=yes'/],
    ['bad-checksum=', /invalid 'bad-checksum='/],
    ['expire-sessions,path=/upload/', /invalid 'path=\/upload\/'/],
  ])('rejects --fault %j with a one-line error that names the invalid part', (spec, reason) => {
    expect(() => parseFault(spec)).toThrow(reason);
    expect(() => parseFault(spec)).toThrow(/^--fault '[^\n]*$/);
  });
});
