import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { makeFolder, makeStateFolder, syncFolder } from '../../src/client/state-files.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

it('makeStateFolder creates a folder and its parents for this user only, and may be repeated', {
  tags: 'file-modes',
}, async () => {
  const root = temporaryFolder();
  const path = join(root, 'a/b/c');
  await makeStateFolder(path);
  await makeStateFolder(path);
  for (const each of ['a', 'a/b', 'a/b/c']) expect(statSync(join(root, each)).mode & 0o777).toBe(0o700);
});

it('concurrent makeFolder calls for the same path all succeed', async () => {
  const path = join(temporaryFolder(), 'a/b/c/d');
  await Promise.all(Array.from({ length: 20 }, () => makeFolder(path)));
  expect(existsSync(path)).toBe(true);
});

it('makeFolder keeps the mode of an existing folder', { tags: 'file-modes' }, async () => {
  const path = join(temporaryFolder(), 'a');
  mkdirSync(path, { mode: 0o755 });
  await makeFolder(path);
  expect(statSync(path).mode & 0o777).toBe(0o755);
});

it.each([
  ['below a file', (root: string) => join(root, 'file/below'), process.platform === 'win32' ? 'EEXIST' : 'ENOTDIR'],
  ['of an existing file', (root: string) => join(root, 'file'), 'EEXIST'],
])('makeFolder fails with the reason for a path %s', async (_what, at, code) => {
  const root = temporaryFolder();
  writeFileSync(join(root, 'file'), '');
  await expectFailure(at(root), code);
});

it('makeFolder fails in /proc, where a recursive mkdir never ends', { tags: 'Linux' }, () =>
  expectFailure('/proc/nope/deeper', 'ENOENT'),
);

async function expectFailure(path: string, code: string) {
  await expect(makeFolder(path, '--data-dir DIR')).rejects.toMatchObject({
    message: `cannot create the directory ${path}`,
    kind: 'usage',
    explanation: { code: 'invalid_folder', reason: expect.stringContaining(code), hint: '--data-dir DIR' },
  });
}

it('syncFolder does nothing where the system cannot open a folder, as on Windows', async () => {
  await expect(syncFolder(join(temporaryFolder(), 'missing'))).resolves.toBeUndefined();
});
