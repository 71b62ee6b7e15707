import { expect, it } from 'vitest';
import { findIgnoredFilter } from '../../src/client/library/filter-checks.ts';

const uid = '00000000-0000-4000-8000-000000000001';

/** Checks a listed asset of this time of creation against the filters. */
const isAccepted = (created_at: string, filters: object) =>
  findIgnoredFilter(filters, [{ uid, name: 'clip', created_at }]) === undefined;

// The day may be that of any time zone, which are up to 14 hours from UTC.
it.each([
  ['2026-03-02T13:59:59Z', true],
  ['2026-03-02T14:00:00Z', false],
])('an asset created at %s can match the filter created_before=2026-03-01: %s', (createdAt, expected) => {
  expect(isAccepted(createdAt, { created_before: '2026-03-01' })).toBe(expected);
});

it.each([
  ['2026-02-28T10:00:00Z', true],
  ['2026-02-28T09:59:59Z', false],
])('an asset created at %s can match the filter created_after=2026-03-01: %s', (createdAt, expected) => {
  expect(isAccepted(createdAt, { created_after: '2026-03-01' })).toBe(expected);
});

it('status and type filters ignore letter case', () => {
  const asset = { uid, name: 'clip', status: 'READY', type: 'Audio' };
  expect(findIgnoredFilter({ status: 'ready', type: 'audio' }, [asset])).toBeUndefined();
  expect(findIgnoredFilter({ status: 'failed' }, [asset])).toEqual({ filter: 'status', uid });
});
