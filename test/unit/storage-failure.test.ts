import { expect, it } from 'vitest';
import { classifyStorageFailure, isLocked } from '../../src/sandbox/storage-failure.ts';

const errno = (code: string) => Object.assign(new Error(code), { code });
/** Creates an error as libsql throws it, with a result code that libsql has no name for. */
const sqlite = (rawCode: number) => Object.assign(new Error('…'), { code: `UNKNOWN_SQLITE_ERROR_${rawCode}`, rawCode });

it.each([
  ['ENOSPC as full', errno('ENOSPC'), 'full'],
  ['EDQUOT as full', errno('EDQUOT'), 'full'],
  ['SQLITE_FULL as full', sqlite(13), 'full'],
  ['EIO as unavailable', errno('EIO'), 'unavailable'],
  ['EROFS as unavailable', errno('EROFS'), 'unavailable'],
  ['SQLITE_BUSY as unavailable', sqlite(5), 'unavailable'],
  ['SQLITE_BUSY_SNAPSHOT as unavailable', sqlite(517), 'unavailable'],
  ['SQLITE_IOERR_SHMSIZE as unavailable', sqlite(4874), 'unavailable'],
  ['SQLITE_READONLY_DBMOVED as unavailable', sqlite(1032), 'unavailable'],
  ['SQLITE_CORRUPT_INDEX as unavailable', sqlite(779), 'unavailable'],
  ['SQLITE_CONSTRAINT_UNIQUE as no storage failure', sqlite(2067), undefined],
  ['SQLITE_ERROR as no storage failure', sqlite(1), undefined],
  ['ENOENT as no storage failure', errno('ENOENT'), undefined],
  ['a TypeError as no storage failure', new TypeError('x is undefined'), undefined],
])('classifyStorageFailure classifies %s', (_what, error, expected) => {
  expect(classifyStorageFailure(error)).toBe(expected);
});

it('isLocked recognizes every SQLite result code of a lock, and no other error', () => {
  const codes = [5, 517, 261, 6, 262, 13, 10, 8];
  expect(codes.map((code) => isLocked(sqlite(code)))).toEqual([...[true, true, true, true, true, false, false, false]]);
  expect(isLocked(errno('EBUSY'))).toBe(false);
});
