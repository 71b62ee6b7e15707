import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { fastClock } from '../support/clock.ts';
import { errorOf } from '../support/errors.ts';
import { fixturePath } from '../support/sandbox.ts';

let cli: Cli;
beforeEach(() => {
  cli = new Cli();
});
afterEach(async () => {
  await cli.run(['sandbox', 'stop']);
  await cli.run(['sandbox', 'stop', '--data-dir', join(cli.home, 'other')]);
  await cli.run(['sandbox', 'stop', '--data-dir', join(cli.home, 'state/sandbox')]);
});

const start = (...args: string[]) => cli.json(['sandbox', 'start', '--port', '0', ...args]);

it('start, first upload, stop, start again: everything is still there', async () => {
  const running = await start();
  expect(running).toMatchObject({ pid: expect.any(Number), profile: 'sandbox' });
  expect((await fetch(`${running.url}/health`)).status).toBe(200);
  expect((await cli.json(['auth', 'ls']))[0]).toMatchObject({ name: 'sandbox', current: true });

  const [record] = await cli.json(['upload', fixturePath('clip.mp4'), '--wait']);
  expect(record).toMatchObject({ asset_status: 'ready', verified: true });

  const again = await cli.run(['sandbox', 'start']);
  const elsewhere = await cli.run(['sandbox', 'start', '--port', '1']);
  expect([elsewhere.code, elsewhere.stderr.includes('stop, then start it')]).toEqual([2, true]);
  expect([again.code, again.stderr]).toEqual([0, `the sandbox is already running (pid ${running.pid})\n`]);

  expect((await cli.run(['sandbox', 'stop'])).stderr).toBe(`stopped the sandbox (pid ${running.pid})\n`);
  expect((await cli.run(['sandbox', 'stop'])).stderr).toBe('no sandbox is running\n');
  expect((await cli.run(['assets', 'ls'])).code).toBe(10);

  const second = await start();
  expect(second.pid).not.toBe(running.pid);
  expect((await cli.json(['assets', 'get', '@last']))[0].uid).toBe(record.asset_uid);
  expect((await cli.json(['play', '@last', '--probe'])).playable).toBe(true);
});

it('kill -9 of the service needs no repair', async () => {
  const running = await start();
  await cli.json(['upload', fixturePath('still.jpg')]);
  process.kill(running.pid, 'SIGKILL');
  await start();
  expect(await cli.json(['assets', 'ls'])).toHaveLength(1);
});

it('players begin and look as it was started', async () => {
  await start('--auto-play', '--theme', 'light');
  await cli.json(['upload', fixturePath('still.jpg')]);
  const { player_config } = await cli.json(['assets', 'player-data', '@last']);
  expect(player_config).toEqual({ auto_play: true, theme: 'light' });
  expect((await cli.run(['sandbox', 'start', '--theme', 'light'])).code).toBe(0);
  const other = await cli.run(['sandbox', 'start', '--theme', 'dark']);
  expect([other.code, other.stderr.includes('the sandbox is already running')]).toEqual([2, true]);
});

it('watch prints the address of a page that plays', async () => {
  expect((await cli.run(['sandbox', 'open', 'still.jpg', '--url'])).code).toBe(3);
  await start();
  await cli.json(['upload', fixturePath('still.jpg'), '--wait']);
  for (const id of ['still.jpg', '@last']) {
    const url = (await cli.run(['sandbox', 'open', id, '--url'])).stdout.trim();
    const page = await fetch(url);
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('still.jpg')]);
  }
});

it('a folder that holds something else is neither taken nor emptied', async () => {
  const folder = join(cli.home, 'mine');
  mkdirSync(join(folder, 'media'), { recursive: true });
  writeFileSync(join(folder, 'media/photo.jpg'), 'mine');
  writeFileSync(join(folder, 'secret'), 'mine');
  const started = await cli.run(['sandbox', 'start', '--port', '0', '--data-dir', folder]);
  expect([started.code, started.stderr]).toEqual([2, expect.stringContaining('contains other files')]);
  const reset = await cli.run(['sandbox', 'reset', '--data-dir', folder, '--yes']);
  expect(reset.stderr).toContain('nothing was deleted');
  expect(readFileSync(join(folder, 'media/photo.jpg'), 'utf8')).toBe('mine');
  expect(readFileSync(join(folder, 'secret'), 'utf8')).toBe('mine');
  expect(readdirSync(folder).sort()).toEqual(['media', 'secret']);
});

it('--profile names the profile of another sandbox; the first one keeps its own', async () => {
  const { url } = await start();
  const other = ['--data-dir', join(cli.home, 'other')];
  const second = await cli.json(['sandbox', 'start', '--port', '0', '--profile', 'second', ...other]);
  const profiles = await cli.json(['auth', 'ls']);
  await cli.run(['sandbox', 'stop', ...other]);
  expect(profiles.map(({ name, base_url }: Record<string, string>) => [name, base_url])).toEqual([
    ['sandbox', url],
    ['second', second.url],
  ]);
});

describe('a second sandbox', () => {
  const second = ['--profile', 'seeded'];
  const dataDir = () => join(cli.home, 'other');

  it('is reached by its profile in every verb; next steps are printed with it', async () => {
    const first = await start();
    const args = ['sandbox', 'start', '--port', '0', '--seed', '30', '--data-dir', dataDir()];
    const { code, stderr } = await cli.run([...args, ...second]);
    expect(code).toBe(0);
    const steps = stderr.split('\n').filter((line) => line.startsWith('  mediactl'));
    expect(steps).toHaveLength(5);
    for (const step of steps) expect(step).toMatch(/ --profile seeded$/);

    const status = await cli.json(['sandbox', 'status', ...second]);
    expect(status).toMatchObject({ running: true, data_dir: dataDir() });
    expect(await cli.json(['assets', 'ls', '--count', ...second])).toBe(30);
    await cli.json(['upload', fixturePath('still.jpg'), ...second]);
    const watch = await cli.run(['sandbox', 'open', '@last', '--url', ...second]);
    expect(watch.stdout.startsWith(`${status.url}/watch/`)).toBe(true);
    const logs = await cli.run(['sandbox', 'logs', '--lines', '100', ...second]);
    expect(logs.stdout).toContain(`listening on ${status.url}`);
    expect((await cli.run(['sandbox', 'start', ...second])).stderr).toContain('already running');
    expect((await cli.run(['sandbox', 'stop', ...second])).stderr).toBe(`stopped the sandbox (pid ${status.pid})\n`);
    const again = await cli.json(['sandbox', 'start', '--port', '0', ...second]);
    expect(again).toMatchObject({ data_dir: dataDir(), profile: 'seeded' });
    expect((await cli.run(['sandbox', 'reset', '--yes', ...second])).stderr).toContain(
      'deleted the sandbox and profile seeded; to start a new one: mediactl sandbox start',
    );
    expect(existsSync(join(dataDir(), 'sandbox.db'))).toBe(false);

    const profiles = await cli.json(['auth', 'ls']);
    expect(profiles.map(({ name }: { name: string }) => name)).toEqual(['sandbox']);
    expect(await cli.json(['sandbox', 'status'])).toMatchObject({ url: first.url });
  });

  it('is the one of the profile in use', async () => {
    await start('--data-dir', dataDir(), ...second);
    expect(await cli.json(['sandbox', 'status'])).toMatchObject({ running: true, data_dir: dataDir() });
    expect((await cli.run(['sandbox', 'reset', '--yes'])).code).toBe(0);
    expect(await cli.json(['auth', 'ls'])).toEqual([]);
  });

  it('a profile that is none, or of another service: exit 2, and nothing is touched', async () => {
    await start();
    await cli.run(
      ['auth', 'login', '--profile', 'prod', '--with-key', '--skip-verify', '--base-url', 'https://m.example'],
      { stdin: 'a-key' },
    );
    for (const profile of ['prod', 'nobody'])
      for (const verb of [['stop'], ['status'], ['logs'], ['reset', '--yes'], ['open', '@last', '--url']])
        expect((await cli.run(['sandbox', ...verb, '--profile', profile])).code).toBe(2);
    expect((await cli.json(['sandbox', 'status', '--profile', 'sandbox'])).running).toBe(true);
  });
});

it('--scoped-profiles makes two more, to try a 403 with; reset forgets them', async () => {
  await start('--scoped-profiles');
  const folder = (profile: string) => cli.run(['folders', 'create', '/New', '--profile', profile]);
  expect((await folder('sandbox-read')).code).toBe(5);
  expect((await folder('sandbox-write')).code).toBe(0);
  expect((await cli.run(['folders', 'rm', '/New', '--yes', '--profile', 'sandbox-write'])).code).toBe(5);
  expect(await cli.json(['auth', 'ls'])).toHaveLength(3);
  await cli.run(['sandbox', 'reset', '--yes']);
  expect(await cli.json(['auth', 'ls'])).toEqual([]);
});

it('start gives the full key to its own profile alone, and every profile the new address', async () => {
  const keys = () => {
    const { profiles } = JSON.parse(readFileSync(join(cli.home, 'config/config.json'), 'utf8'));
    return Object.entries<{ key: string }>(profiles).map(([name, { key }]) => [name, key]);
  };
  await start('--scoped-profiles');
  const before = keys();
  await cli.json(['auth', 'switch', 'sandbox-read']);
  for (const args of [[], ['--profile', 'sandbox-write']])
    expect((await cli.json(['sandbox', 'start', ...args])).profile).toBe('sandbox');
  expect(keys()).toEqual(before);

  await cli.json(['auth', 'logout', 'sandbox']);
  await cli.json(['auth', 'switch', 'sandbox-read']);
  await cli.json(['sandbox', 'start']);
  expect(keys().sort()).toEqual(before.sort());
  expect((await cli.run(['folders', 'create', '/A'])).code).toBe(5);

  await cli.run(['sandbox', 'stop']);
  await start();
  expect(keys().sort()).toEqual(before.sort());
  for (const profile of ['sandbox', 'sandbox-read', 'sandbox-write'])
    expect((await cli.run(['auth', 'status', '--profile', profile])).code).toBe(0);
});

it('a store that lost what it held: start says so, and the profile has a key that works', async () => {
  await start();
  await cli.json(['upload', fixturePath('still.jpg')]);
  await cli.run(['sandbox', 'stop']);
  writeFileSync(join(cli.home, 'state/sandbox/sandbox.db'), '');
  rmSync(join(cli.home, 'state/sandbox/sandbox.db-wal'), { force: true });
  const { code, stderr } = await cli.run(['sandbox', 'start', '--port', '0']);
  expect(code).toBe(0);
  expect(stderr).toContain('warning: sandbox.db did not contain the keys in credentials.json; created new keys');
  expect(stderr).toContain('warning: sandbox.db lacks 1 of the assets in media/');
  expect(await cli.json(['assets', 'ls'])).toEqual([]);
  const { stdout } = await cli.run(['sandbox', 'logs']);
  expect(stdout).toContain('created new keys');
});

it('a store that is none: exit 1, with what to do, and nothing is deleted', async () => {
  await start();
  await cli.run(['sandbox', 'stop']);
  const path = join(cli.home, 'state/sandbox/sandbox.db');
  writeFileSync(path, 'no database');
  const { code, stderr } = await cli.run(['sandbox', 'start', '--port', '0']);
  expect([code, stderr]).toEqual([
    1,
    [
      'error: the sandbox did not start',
      `  cause: ${path} is not a database or is corrupt`,
      '  try:   move that file, or use another directory: --data-dir DIR',
      '',
    ].join('\n'),
  ]);
  expect(readFileSync(path, 'utf8')).toBe('no database');
});

it.each([
  ['--data-dir', ['--data-dir', '/proc/nope'], {}],
  ['MEDIACTL_STATE_DIR', [], { MEDIACTL_STATE_DIR: '/proc/nope' }],
])('a folder that cannot be made is said at once: %s', async (_what, args, environment) => {
  const { code, stderr } = await cli.run(['sandbox', 'start', '--port', '0', ...args], {
    environment,
  });
  expect([code, stderr.split('\n')[0]]).toEqual([
    2,
    expect.stringMatching(/^error: cannot create the directory \/proc\/nope/),
  ]);
});

it('several starts at once: one runs, and the others find it', async () => {
  const starts = await Promise.all([0, 1, 2].map(() => cli.run(['sandbox', 'start', '--port', '0', '--json'])));
  expect(starts.map(({ code }) => code)).toEqual([0, 0, 0]);
  expect(new Set(starts.map(({ stdout }) => JSON.parse(stdout).pid)).size).toBe(1);
});

it('a start keeps what was chosen in its profile', async () => {
  await start();
  await cli.run(['workspaces', 'use', 'Archive']);
  await cli.run(['config', 'set', 'color', 'never']);
  const chosen = await cli.json(['config', 'get', 'workspace']);
  await cli.run(['sandbox', 'stop']);
  await start();
  expect(await cli.json(['config', 'get', 'workspace'])).toBe(chosen);
  expect(await cli.json(['config', 'get', 'color'])).toBe('never');
});

it('status tells whether it runs', async () => {
  expect(await cli.json(['sandbox', 'status'])).toMatchObject({ running: false, url: null });
  const { url } = await start();
  const status = await cli.json(['sandbox', 'status']);
  expect(status).toMatchObject({ running: true, url });
});

it('its secrets are 0600', async () => {
  await start();
  for (const file of ['credentials.json', 'secret', 'server.json', 'sandbox.log'])
    expect(statSync(join(cli.home, 'state/sandbox', file)).mode & 0o777).toBe(0o600);
  expect(statSync(join(cli.home, 'state/sandbox')).mode & 0o777).toBe(0o700);
});

it('keys of lesser scope are there to try with', async () => {
  const { url } = await start();
  const { keys } = JSON.parse(readFileSync(join(cli.home, 'state/sandbox/credentials.json'), 'utf8'));
  const environment = {
    MEDIACTL_API_KEY: keys.read,
    MEDIACTL_BASE_URL: url,
    MEDIACTL_WORKSPACE: 'Main',
  };
  expect((await cli.run(['assets', 'ls'], { environment })).code).toBe(0);
  expect((await cli.run(['upload', fixturePath('still.jpg')], { environment })).code).toBe(5);
});

it('reset asks first, then deletes everything', async () => {
  await start();
  await cli.json(['upload', fixturePath('still.jpg')]);
  const { code, stderr } = await cli.run(['sandbox', 'reset']);
  expect([code, stderr.includes('mediactl sandbox reset --yes')]).toEqual([2, true]);
  expect((await cli.run(['sandbox', 'reset', '--dry-run'])).code).toBe(0);
  expect((await cli.run(['sandbox', 'reset', '--yes'])).code).toBe(0);
  expect(existsSync(join(cli.home, 'state/sandbox/sandbox.db'))).toBe(false);
  await start();
  expect(await cli.json(['assets', 'ls'])).toEqual([]);
});

it('logs -f goes on as lines come, over a rotation too, until it is interrupted', async () => {
  await start();
  const log = join(cli.home, 'state/sandbox/sandbox.log');
  const interruption = new AbortController();
  let shown = '';
  const following = cli.run(['sandbox', 'logs', '-f', '--lines', '1'], {
    signal: interruption.signal,
    clock: fastClock(),
    onStdout: (text) => {
      shown = text;
    },
  });
  await expect.poll(() => shown).toContain('GET /health 200');
  await cli.run(['assets', 'ls']);
  // Rotates the log as the sandbox does when it is full; the running sandbox writes on to the renamed file.
  renameSync(log, `${log}.1`);
  await cli.run(['workspaces', 'ls']);
  while (!readFileSync(`${log}.1`, 'utf8').includes('/workspaces/ 200'))
    await new Promise((resolve) => setTimeout(resolve, 10));
  writeFileSync(log, 'from the new one\n');
  await expect.poll(() => shown).toContain('from the new one');
  interruption.abort();
  const { code, stdout } = await following;
  expect(code).toBe(0);
  expect(stdout.trimEnd().split('\n')).toEqual([
    expect.stringContaining('GET /health 200'), // the health check at start
    expect.stringContaining('GET /api/external/v1/assets/ 200'),
    expect.stringContaining('GET /api/external/v1/workspaces/ 200'),
    'from the new one',
  ]);
});

it('a log that is full makes room: it is bounded', async () => {
  const running = await start();
  await cli.run(['sandbox', 'stop']);
  const log = join(cli.home, 'state/sandbox/sandbox.log');
  truncateSync(log, 600_000_000); // a sparse file, as large as logs of an older version
  await start();
  expect(statSync(log).size).toBeLessThan(10_000);
  expect(statSync(`${log}.1`).size).toBe(600_000_000);
  const { stdout } = await cli.run(['sandbox', 'logs', '--lines', '2']);
  expect(stdout).toContain('listening on');
  expect(stdout).not.toContain(running.url);
});

it('logs show a line a request', async () => {
  expect((await cli.run(['sandbox', 'logs'])).code).toBe(3);
  await start();
  await cli.run(['assets', 'ls']);
  const { stdout } = await cli.run(['sandbox', 'logs', '--lines', '1']);
  expect(stdout).toMatch(/^\S+Z GET \/api\/external\/v1\/assets\/ 200 \d+ ms\n$/);
});

it('a port that is taken: said, with the reason', async () => {
  const { url } = await start();
  const other = join(cli.home, 'other');
  const { code, stderr } = await cli.run(['sandbox', 'start', '--data-dir', other, '--port', new URL(url).port]);
  expect(code).toBe(1);
  expect(stderr).toContain('error: the sandbox did not start');
  expect(stderr).toContain('EADDRINUSE');
  const asJson = ['sandbox', 'start', '--data-dir', other, '--port', new URL(url).port, '--json'];
  expect(errorOf(await cli.run(asJson))).toEqual({
    code: 'sandbox_failed',
    exit: 1,
    hint: 'mediactl sandbox start --port 0, to use any free port',
  });
});

it('one that hangs is not deleted, and how to end it is said', async () => {
  const { pid } = await start();
  process.kill(pid, 'SIGSTOP');
  const reset = await cli.run(['sandbox', 'reset', '--yes', '--json'], { clock: fastClock() });
  process.kill(pid, 'SIGCONT');
  expect(errorOf(reset)).toEqual({
    code: 'sandbox_failed',
    exit: 1,
    hint: `kill -9 ${pid}, if that process is the sandbox; acknowledged uploads are kept`,
  });
});

it('a profile called sandbox for another service is not overwritten', async () => {
  const login = ['auth', 'login', '--profile', 'sandbox', '--with-key', '--skip-verify'];
  await cli.run([...login, '--base-url', 'https://media.example.com'], {
    stdin: 'a-key-of-theirs',
  });
  expect(errorOf(await cli.run(['sandbox', 'start', '--port', '0', '--json']))).toEqual({
    code: 'usage',
    exit: 2,
    hint: 'mediactl sandbox start --profile OTHER',
  });
  const config = readFileSync(join(cli.home, 'config/config.json'), 'utf8');
  expect(config).toContain('a-key-of-theirs');
});

it('another profile stays current', async () => {
  await cli.run(['auth', 'login', '--base-url', 'https://media.example.com', '--with-key', '--skip-verify'], {
    stdin: 'a-key-of-theirs',
  });
  await start();
  const listed = await cli.json(['auth', 'ls']);
  expect(listed.map(({ name, current }: never) => [name, current])).toEqual([
    ['default', true],
    ['sandbox', false],
  ]);
});
