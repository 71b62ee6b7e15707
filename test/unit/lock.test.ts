import { statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tryLock, withLock } from '../../src/client/lock.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

it('a lock file has one owner at a time and can be locked again after its release', async () => {
  const path = join(temporaryFolder(), 'a.lock');
  const firstLock = await tryLock(path);
  expect(await tryLock(path)).toBeUndefined();
  firstLock?.release();
  const secondLock = await tryLock(path);
  expect(secondLock).toBeDefined();
  secondLock?.release();
});

it('a lock file is private to the user', { tags: 'file-modes' }, async () => {
  const path = join(temporaryFolder(), 'a.lock');
  (await tryLock(path))?.release();
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

it('withLock fails with the given error when the lock is not released within the wait time', async () => {
  const path = join(temporaryFolder(), 'a.lock');
  const busy = () => new Error('busy');
  await withLock({ path, waitMs: 1000, busy }, async () => {
    await expect(withLock({ path, waitMs: 20, busy }, async () => {})).rejects.toThrow('busy');
  });
});
