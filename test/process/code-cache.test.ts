import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { mediactlPath, startProcess } from '../support/spawn.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

const version = async (home: string, program = mediactlPath) => {
  const { code, stdout, stderr } = await startProcess(process.execPath, [program, '--version'], {
    XDG_CACHE_HOME: home,
  }).finished;
  expect([code, stderr]).toEqual([0, '']);
  return stdout;
};

const kept = (home: string) => readdirSync(join(home, 'mediactl'));

it('code is compiled once, and kept for this user alone', async () => {
  const home = temporaryFolder();
  await version(home);
  const [folder] = [join(home, 'mediactl')];
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  const before = kept(home).map((name) => statSync(join(folder, name)).mtimeMs);
  expect(before.length).toBeGreaterThan(0);
  await version(home);
  expect(kept(home).map((name) => statSync(join(folder, name)).mtimeMs)).toEqual(before);
});

it('in a folder where others may write nothing is kept', async () => {
  const home = temporaryFolder();
  mkdirSync(join(home, 'mediactl'));
  chmodSync(join(home, 'mediactl'), 0o777);
  await version(home);
  expect(kept(home)).toEqual([]);
});

it('a cache folder that nobody can make costs its speed alone', async () => {
  expect(await version('/proc/nope')).toMatch(/^\d/);
});

// Node 22 has its own compile cache, in the same folder.
describe.runIf(process.versions.node.startsWith('20.'))('on Node 20', () => {
  /** Plants a cache entry of other code: V8 checks little more than the length of the source. */
  async function plant(): Promise<{ home: string; file: string }> {
    const home = temporaryFolder();
    await version(home);
    const [name] = kept(home);
    const file = join(home, 'mediactl', name as string);
    const head = '(function (exports, require, module, __filename, __dirname) { ';
    const { length } = `${head}${readFileSync(join(root, 'dist/mediactl.cjs'), 'utf8')}\n})`;
    // In a separate process: V8 rejects a cache that was compiled with other flags.
    const compile = `const [, head, length, file] = process.argv;
      const source = (head + "module && console.log('planted')})").padEnd(Number(length));
      const planted = new (require('node:vm').Script)(source);
      planted.runInThisContext()(); // compiled lazily: what ran is kept
      require('node:fs').writeFileSync(file, planted.createCachedData());`;
    execFileSync(process.execPath, ['-e', compile, head, String(length), file]);
    return { home, file };
  }

  it('what this user planted runs: the next tests see something', async () => {
    const { home } = await plant();
    expect(await version(home)).toBe('planted\n');
  });

  it.each([
    ['folder', ({ home }: { home: string }) => join(home, 'mediactl')],
    ['file', ({ file }: { file: string }) => file],
  ])('code in a %s where others may write is not run', async (_what, which) => {
    const planted = await plant();
    chmodSync(which(planted), 0o777);
    expect(await version(planted.home)).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it('several installs of one version keep their own', async () => {
    const home = temporaryFolder();
    const other = temporaryFolder();
    for (const name of ['bin', 'dist', 'package.json'])
      cpSync(join(root, name), join(other, name), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(other, 'node_modules'));
    await version(home);
    const first = kept(home);
    await version(home, join(other, 'bin/mediactl.js'));
    expect(kept(home)).toEqual(expect.arrayContaining(first));
    expect(kept(home)).toHaveLength(first.length + 1);
  });

  it('what an older build of this install left is removed', async () => {
    const home = temporaryFolder();
    await version(home);
    const [name = ''] = kept(home);
    const older = join(home, 'mediactl', name.replace(/-\d+-v/, '-1-v'));
    writeFileSync(older, '');
    writeFileSync(join(home, 'mediactl', name), 'no compiled code');
    await version(home);
    expect(kept(home)).toEqual([name]);
  });
});
