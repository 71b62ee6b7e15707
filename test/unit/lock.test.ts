import { writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tryLock } from '../../src/lock.ts';
import { temporaryFolder } from '../support/temporary.ts';

const processes = {
  pid: process.pid,
  execPath: process.execPath,
  signal: (pid: number, signal: NodeJS.Signals | 0) => void process.kill(pid, signal),
};

it('one holds it; released, the next one gets it', async () => {
  const folder = temporaryFolder();
  const path = join(folder, 'a.lock');
  const first = await tryLock(path, processes);
  expect(await tryLock(path, processes)).toEqual({ heldBy: process.pid });
  if ('release' in first) await first.release();
  const second = await tryLock(path, processes);
  expect(second).toHaveProperty('release');
  if ('release' in second) await second.release();
  expect(await readdir(folder)).toEqual([]);
});

it.each([
  ['a dead process', JSON.stringify({ pid: 2 ** 22 + 1, startedAt: '1' })],
  ['a process whose pid another one has now', JSON.stringify({ pid: process.pid, startedAt: '1' })],
  ['nobody that can be read', '{"pid":'],
])('the lock of %s is taken over, by one of many', async (_who, text) => {
  const folder = temporaryFolder();
  const path = join(folder, 'a.lock');
  writeFileSync(path, text);
  const attempts = await Promise.all(Array.from({ length: 8 }, () => tryLock(path, processes)));
  expect(attempts.filter((lock) => 'release' in lock)).toHaveLength(1);
  expect(await readdir(folder)).toEqual(['a.lock']);
});
