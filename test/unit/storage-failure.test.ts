import { expect, it } from 'vitest';
import { classifyStorageFailure, isLocked } from '../../src/sandbox/storage-failure.ts';

const errno = (code: string) => Object.assign(new Error(code), { code });
/** Creates an error as libsql throws it, with a result code that libsql has no name for. */
const sqlite = (rawCode: number) => Object.assign(new Error('…'), { code: `UNKNOWN_SQLITE_ERROR_${rawCode}`, rawCode });

it.each([
  ['no space', errno('ENOSPC'), 'full'],
  ['no quota', errno('EDQUOT'), 'full'],
  ['SQLITE_FULL', sqlite(13), 'full'],
  ['a failing disk', errno('EIO'), 'unavailable'],
  ['one that is read-only', errno('EROFS'), 'unavailable'],
  ['SQLITE_BUSY', sqlite(5), 'unavailable'],
  ['SQLITE_BUSY_SNAPSHOT', sqlite(517), 'unavailable'],
  ['SQLITE_IOERR_SHMSIZE', sqlite(4874), 'unavailable'],
  ['SQLITE_READONLY_DBMOVED', sqlite(1032), 'unavailable'],
  ['SQLITE_CORRUPT_INDEX', sqlite(779), 'unavailable'],
  ['SQLITE_CONSTRAINT_UNIQUE: a defect', sqlite(2067), undefined],
  ['SQLITE_ERROR: a defect', sqlite(1), undefined],
  ['a file that is not there: a defect', errno('ENOENT'), undefined],
  ['anything else', new TypeError('x is undefined'), undefined],
])('%s', (_what, error, expected) => {
  expect(classifyStorageFailure(error)).toBe(expected);
});

it('a lock is one in any of its forms, and nothing else is', () => {
  const codes = [5, 517, 261, 6, 262, 13, 10, 8];
  expect(codes.map((code) => isLocked(sqlite(code)))).toEqual([...[true, true, true, true, true, false, false, false]]);
  expect(isLocked(errno('EBUSY'))).toBe(false);
});
