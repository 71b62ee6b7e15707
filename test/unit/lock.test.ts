import { writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { acquireLock } from '../../src/upload/lock.ts';
import { temporaryFolder } from '../support/temporary.ts';

const processes = {
  pid: process.pid,
  execPath: process.execPath,
  signal: (pid: number, signal: NodeJS.Signals | 0) => void process.kill(pid, signal),
};

it('one holds it; released, the next one gets it', async () => {
  const folder = temporaryFolder();
  const release = await acquireLock(join(folder, 'a.lock'), processes);
  await expect(acquireLock(join(folder, 'a.lock'), processes)).rejects.toThrow(
    `already uploading, pid ${process.pid}`,
  );
  await release();
  await (await acquireLock(join(folder, 'a.lock'), processes))();
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
  const attempts = await Promise.allSettled(
    Array.from({ length: 8 }, () => acquireLock(path, processes)),
  );
  expect(attempts.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  expect(await readdir(folder)).toEqual(['a.lock']);
});
