import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { respond, startServer } from '../support/http-server.ts';
import { mediactlPath, startProcess } from '../support/spawn.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

const runWithCache = (args: string[], home: string, program = mediactlPath) =>
  startProcess(process.execPath, [program, ...args], {
    XDG_CACHE_HOME: home,
    MEDIACTL_CONFIG_DIR: join(home, 'config'),
    MEDIACTL_STATE_DIR: join(home, 'state'),
    LD_PRELOAD: undefined, // the times of files are on the real clock, also under faketime
  }).finished;

/** Runs a command that the program itself answers, unlike --version. */
const startWithCache = async (home: string, program = mediactlPath) => {
  const { code, stdout, stderr } = await runWithCache(['config', 'path'], home, program);
  expect([code, stderr]).toEqual([0, '']);
  return stdout;
};
const startedOutput = /config\.json\n$/;

/** Lists the cache files. On Node 22 and later they are in a folder per noun and version. */
const cacheFiles = (home: string) =>
  readdirSync(join(home, 'mediactl'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(home, 'mediactl/').length));

it('the launcher prints the version without compiling or caching any code', async () => {
  const home = temporaryFolder();
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  for (const flag of ['--version', '-V', '-v']) {
    const { code, stdout, stderr } = await runWithCache([flag], home);
    expect([code, stdout, stderr]).toEqual([0, `${version}\n`, '']);
  }
  expect(readdirSync(home)).toEqual([]);
});

it('--version into a closed pipe exits with 0 and prints no error', async () => {
  const command = `exec 3>&1; { sleep 0.2; ${process.execPath} ${mediactlPath} --version; echo "exit $?" >&3; } | true`;
  const { stdout, stderr } = await startProcess('/bin/sh', ['-c', command], {}).finished;
  expect([stdout, stderr]).toEqual(['exit 0\n', '']);
});

it('mediactl compiles code once per command group and caches it in a folder of mode 0700', async () => {
  const home = temporaryFolder();
  await startWithCache(home);
  const folder = join(home, 'mediactl');
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  const modificationTimes = () => cacheFiles(home).map((name) => statSync(join(folder, name)).mtimeMs);
  const timesBefore = modificationTimes();
  expect(timesBefore.length).toBeGreaterThan(0);
  await startWithCache(home);
  expect(modificationTimes()).toEqual(timesBefore);
  await runWithCache(['auth', 'ls'], home);
  expect(cacheFiles(home).length).toBeGreaterThan(timesBefore.length);
});

it.each([
  ['assets ls', []],
  ['assets get 123e4567-e89b-42d3-a456-426614174000', ['commands.cjs']],
  ['config path', ['commands.cjs']],
  ['upload --help', ['uploads.cjs']],
])('mediactl %s starts without the files that have only the code of other commands', async (command, files) => {
  const install = temporaryFolder();
  for (const name of ['bin', 'package.json', ...['mediactl', 'dispatcher.lazy'].map((each) => `dist/${each}.cjs`)])
    cpSync(join(root, name), join(install, name), { recursive: true });
  for (const name of files) cpSync(join(root, 'dist', name), join(install, 'dist', name));
  const asset = { uid: '123e4567-e89b-42d3-a456-426614174000', name: 'clip.mp4', status: 'ready' };
  const page = { items: [asset], count: 1, page: 1, size: 50 };
  const url = await startServer((request, response) =>
    respond(response, 200, request.url?.includes(asset.uid) ? asset : page),
  );
  const { code, stderr } = await startProcess(
    process.execPath,
    [join(install, 'bin/mediactl.js'), ...command.split(' ')],
    {
      XDG_CACHE_HOME: install,
      MEDIACTL_CONFIG_DIR: join(install, 'config'),
      MEDIACTL_STATE_DIR: join(install, 'state'),
      MEDIACTL_API_KEY: 'key',
      MEDIACTL_BASE_URL: url,
    },
  ).finished;
  expect([code, stderr]).toEqual([0, command === 'assets ls' ? 'all workspaces\n' : '']);
});

it('mediactl caches no code in a folder that others can write to', async () => {
  const home = temporaryFolder();
  mkdirSync(join(home, 'mediactl'));
  chmodSync(join(home, 'mediactl'), 0o777);
  await startWithCache(home);
  expect(cacheFiles(home)).toEqual([]);
});

it('mediactl works without a cache if the cache folder cannot be created', async () => {
  const { code, stdout } = await runWithCache(['--help'], '/proc/nope');
  expect([code, stdout]).toEqual([0, expect.stringContaining('Usage:')]);
});

// Node 22 has its own compile cache, in the same folder.
describe.runIf(process.versions.node.startsWith('20.'))('code cache on Node 20', () => {
  /** Plants a cache entry of other code: V8 checks little more than the length of the source. */
  async function plantCacheFile(): Promise<{ home: string; file: string }> {
    const home = temporaryFolder();
    await startWithCache(home);
    const [name] = bundleCacheFiles(home);
    const file = join(home, 'mediactl', name as string);
    const moduleWrapperHead = '(function (exports, require, module, __filename, __dirname) { ';
    const { length } = `${moduleWrapperHead}${readFileSync(join(root, 'dist/mediactl.cjs'), 'utf8')}\n})`;
    // In a separate process: V8 rejects a cache that was compiled with other flags.
    const compile = `const [, head, length, file] = process.argv;
      const source = (head + "module && console.log('planted')})").padEnd(Number(length));
      const planted = new (require('node:vm').Script)(source);
      planted.runInThisContext()(); // compiled lazily: what ran is kept
      const data = Buffer.concat([planted.createCachedData(), Buffer.from('\\npath')]);
      require('node:fs').writeFileSync(file, data);`;
    execFileSync(process.execPath, ['-e', compile, moduleWrapperHead, String(length), file]);
    return { home, file };
  }

  const bundleCacheFiles = (home: string) => cacheFiles(home).filter((name) => name.startsWith('mediactl.cjs'));

  it('mediactl runs code that its own user plants in the cache (a control for the next tests)', async () => {
    const { home } = await plantCacheFile();
    expect(await startWithCache(home)).toBe('planted\n');
  });

  it.each([
    ['folder', ({ home }: { home: string }) => join(home, 'mediactl')],
    ['file', ({ file }: { file: string }) => file],
  ])('mediactl does not run cached code from a %s that others can write to', async (_what, selectPath) => {
    const planted = await plantCacheFile();
    chmodSync(selectPath(planted), 0o777);
    expect(await startWithCache(planted.home)).toMatch(startedOutput);
  });

  it('the cache of a command group grows with each subcommand but not with an unknown command', async () => {
    const home = temporaryFolder();
    await startWithCache(home);
    const [name = ''] = bundleCacheFiles(home);
    const size = () => statSync(join(home, 'mediactl', name)).size;
    const sizeBefore = size();
    await runWithCache(['config', 'ls'], home);
    expect(size()).toBeGreaterThan(sizeBefore + 1_000);
    expect((await runWithCache(['confgi', 'ls'], home)).code).toBe(2);
    expect(bundleCacheFiles(home)).toEqual([name]);
  });

  it('mediactl compiles and caches a command without a subcommand once', async () => {
    const home = temporaryFolder();
    const modificationTime = () => statSync(join(home, 'mediactl', bundleCacheFiles(home)[0] as string)).mtimeMs;
    await runWithCache(['commands'], home);
    const timeBefore = modificationTime();
    await runWithCache(['commands'], home);
    expect(modificationTime()).toBe(timeBefore);
  });

  it('two installs of the same version have separate cache files', async () => {
    const home = temporaryFolder();
    const otherInstall = temporaryFolder();
    for (const name of ['bin', 'dist', 'package.json'])
      cpSync(join(root, name), join(otherInstall, name), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(otherInstall, 'node_modules'));
    await startWithCache(home);
    const firstCacheFiles = cacheFiles(home);
    await startWithCache(home, join(otherInstall, 'bin/mediactl.js'));
    expect(cacheFiles(home)).toEqual(expect.arrayContaining(firstCacheFiles));
    expect(cacheFiles(home)).toHaveLength(2 * firstCacheFiles.length);
  });

  it('mediactl removes the cache files of an older build', async () => {
    const home = temporaryFolder();
    await startWithCache(home);
    const currentCacheFiles = cacheFiles(home);
    const [name = ''] = bundleCacheFiles(home);
    const olderCacheFile = join(home, 'mediactl', name.replace(/-\d+-v/, '-1-v'));
    writeFileSync(olderCacheFile, '');
    writeFileSync(join(home, 'mediactl', name), 'no compiled code');
    await startWithCache(home);
    expect(cacheFiles(home)).toEqual(currentCacheFiles);
  });
});

describe('untrusted cache folder', () => {
  it('mediactl does not use a cache folder below a folder that others can write to', async () => {
    const home = temporaryFolder();
    const shared = join(home, 'shared');
    mkdirSync(join(shared, 'cache'), { recursive: true });
    chmodSync(shared, 0o777);
    expect(await startWithCache(join(shared, 'cache'))).toMatch(startedOutput);
    expect(existsSync(join(shared, 'cache/mediactl'))).toBe(false);
  });

  it('mediactl uses the target of a cache folder link that others can replace', async () => {
    const home = temporaryFolder();
    await startWithCache(home);
    const [folder, shared] = [join(home, 'mediactl'), join(home, 'shared')];
    mkdirSync(shared);
    symlinkSync(home, join(shared, 'cache'));
    chmodSync(shared, 0o777);
    const filesBefore = cacheFiles(home);
    // The path that the link leads to is safe, and is used in place of the link.
    expect(await startWithCache(join(shared, 'cache'))).toMatch(startedOutput);
    expect(cacheFiles(home)).toEqual(filesBefore);
    expect(lstatSync(folder).isDirectory()).toBe(true);
  });

  it('mediactl ignores a relative XDG_CACHE_HOME and caches code in ~/.cache', async () => {
    const home = temporaryFolder();
    const started = startProcess(
      '/bin/sh',
      ['-c', `cd '${home}' && exec '${process.execPath}' '${mediactlPath}' config path`],
      {
        HOME: home,
        XDG_CACHE_HOME: 'cache',
      },
    );
    expect((await started.finished).code).toBe(0);
    expect([existsSync(join(home, 'cache')), existsSync(join(home, '.cache/mediactl'))]).toEqual([false, true]);
  });
});

it('mediactl does not use the home folder of another user, as after sudo -E', { tags: 'root-mount' }, async () => {
  const home = temporaryFolder();
  mkdirSync(join(home, '.config/mediactl'), { recursive: true });
  writeFileSync(join(home, '.config/mediactl/config.json'), '{"settings": {"format": "json"}}');
  chownSync(home, 65_534, 65_534);
  const environment = { HOME: home, XDG_CONFIG_HOME: join(home, '.config'), XDG_CACHE_HOME: join(home, '.cache') };
  const { stdout } = await startProcess(process.execPath, [mediactlPath, 'config', 'path'], environment).finished;
  expect(stdout).toBe(`${join(userInfo().homedir, '.config/mediactl/config.json')}\n`);
  expect(readdirSync(home)).toEqual(['.config']);
});
