import { expect, it } from 'vitest';
import { classifyStorageFailure, isLocked } from '../../src/sandbox/storage-failure.ts';

const systemError = (code: string) => Object.assign(new Error(code), { code });
/** Creates an error as libsql throws it, with a result code that libsql has no name for. */
const sqlError = (rawCode: number) =>
  Object.assign(new Error('…'), { code: `UNKNOWN_SQLITE_ERROR_${rawCode}`, rawCode });

it.each([
  ['ENOSPC as full', systemError('ENOSPC'), 'full'],
  ['EDQUOT as full', systemError('EDQUOT'), 'full'],
  ['SQLITE_FULL as full', sqlError(13), 'full'],
  ['EIO as unavailable', systemError('EIO'), 'unavailable'],
  ['EROFS as unavailable', systemError('EROFS'), 'unavailable'],
  ['SQLITE_BUSY as unavailable', sqlError(5), 'unavailable'],
  ['SQLITE_BUSY_SNAPSHOT as unavailable', sqlError(517), 'unavailable'],
  ['SQLITE_IOERR_SHMSIZE as unavailable', sqlError(4874), 'unavailable'],
  ['SQLITE_READONLY_DBMOVED as unavailable', sqlError(1032), 'unavailable'],
  ['SQLITE_CORRUPT_INDEX as unavailable', sqlError(779), 'unavailable'],
  ['SQLITE_CONSTRAINT_UNIQUE as no storage failure', sqlError(2067), undefined],
  ['SQLITE_ERROR as no storage failure', sqlError(1), undefined],
  ['ENOENT as no storage failure', systemError('ENOENT'), undefined],
  ['a TypeError as no storage failure', new TypeError('x is undefined'), undefined],
])('classifyStorageFailure classifies %s', (_what, error, expected) => {
  expect(classifyStorageFailure(error)).toBe(expected);
});

it('isLocked recognizes every SQLite result code of a lock, and no other error', () => {
  const codes = [5, 517, 261, 6, 262, 13, 10, 8]; // five codes of locks, then FULL, IOERR and READONLY
  expect(codes.filter((code) => isLocked(sqlError(code)))).toEqual([5, 517, 261, 6, 262]);
  expect(isLocked(systemError('EBUSY'))).toBe(false);
});
