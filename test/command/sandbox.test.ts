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
import { acceleratedClock } from '../support/clock.ts';
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

const startSandbox = (...args: string[]) => cli.json(['sandbox', 'start', '--port', '0', ...args]);

it('the sandbox keeps its assets after sandbox stop and sandbox start', async () => {
  const running = await startSandbox();
  expect(running).toMatchObject({ pid: expect.any(Number), profile: 'sandbox' });
  expect((await fetch(`${running.url}/health`)).status).toBe(200);
  expect((await cli.json(['auth', 'ls']))[0]).toMatchObject({ name: 'sandbox', current: true });

  const [record] = await cli.json(['upload', fixturePath('clip.mp4'), '--wait']);
  expect(record).toMatchObject({ asset_status: 'ready', verified: true });

  const secondStart = await cli.run(['sandbox', 'start']);
  const otherPort = await cli.run(['sandbox', 'start', '--port', '1']);
  expect([otherPort.code, otherPort.stderr.includes('stop, then start it')]).toEqual([2, true]);
  expect([secondStart.code, secondStart.stderr]).toEqual([0, `the sandbox is already running (pid ${running.pid})\n`]);

  expect((await cli.run(['sandbox', 'stop'])).stderr).toBe(`stopped the sandbox (pid ${running.pid})\n`);
  expect((await cli.run(['sandbox', 'stop'])).stderr).toBe('no sandbox is running\n');
  expect((await cli.run(['assets', 'ls'])).code).toBe(10);

  const restarted = await startSandbox();
  expect(restarted.pid).not.toBe(running.pid);
  expect((await cli.json(['assets', 'get', '@last']))[0].uid).toBe(record.asset_uid);
  expect((await cli.json(['play', '@last', '--probe'])).playable).toBe(true);
});

it('each command that sandbox start suggests runs as it is printed, with the path of a file for FILE', async () => {
  const { stderr } = await cli.run(['sandbox', 'start', '--port', '0']);
  const suggested = [...stderr.matchAll(/^ {2}mediactl (.*)$/gm)].map(([, words = '']) => words);
  expect(suggested).toEqual(['upload FILE --wait', 'ls', 'play @last --probe', 'open @last', 'browse']);
  for (const words of suggested.slice(0, 3)) {
    const args = words.split(' ').map((word) => (word === 'FILE' ? fixturePath('clip.mp4') : word));
    expect([words, (await cli.run(args)).code]).toEqual([words, 0]);
  }
});

it('the sandbox keeps its assets after kill -9', async () => {
  const running = await startSandbox();
  await cli.json(['upload', fixturePath('still.jpg')]);
  process.kill(running.pid, 'SIGKILL');
  await startSandbox();
  expect(await cli.json(['assets', 'ls'])).toHaveLength(1);
});

it('sandbox start --auto-play and --theme set the configuration of the player', async () => {
  await startSandbox('--auto-play', '--theme', 'light');
  await cli.json(['upload', fixturePath('still.jpg')]);
  const { player_config } = await cli.json(['assets', 'player-data', '@last']);
  expect(player_config).toEqual({ auto_play: true, theme: 'light' });
  expect((await cli.run(['sandbox', 'start', '--theme', 'light'])).code).toBe(0);
  const other = await cli.run(['sandbox', 'start', '--theme', 'dark']);
  expect([other.code, other.stderr.includes('the sandbox is already running')]).toEqual([2, true]);
});

it('sandbox start and reset neither use nor delete a directory that contains other files', async () => {
  const otherFolder = join(cli.home, 'mine');
  mkdirSync(join(otherFolder, 'media'), { recursive: true });
  writeFileSync(join(otherFolder, 'media/photo.jpg'), 'mine');
  writeFileSync(join(otherFolder, 'secret'), 'mine');
  const started = await cli.run(['sandbox', 'start', '--port', '0', '--data-dir', otherFolder]);
  expect([started.code, started.stderr]).toEqual([2, expect.stringContaining('contains other files')]);
  const reset = await cli.run(['sandbox', 'reset', '--data-dir', otherFolder, '--yes']);
  expect(reset.stderr).toContain('nothing was deleted');
  expect(readFileSync(join(otherFolder, 'media/photo.jpg'), 'utf8')).toBe('mine');
  expect(readFileSync(join(otherFolder, 'secret'), 'utf8')).toBe('mine');
  expect(readdirSync(otherFolder).sort()).toEqual(['media', 'secret']);
});

it('sandbox start --profile creates a profile for a second sandbox and keeps the profile of the first', async () => {
  const { url } = await startSandbox();
  const dataDir = ['--data-dir', join(cli.home, 'other')];
  const secondSandbox = await cli.json(['sandbox', 'start', '--port', '0', '--profile', 'second', ...dataDir]);
  const profiles = await cli.json(['auth', 'ls']);
  await cli.run(['sandbox', 'stop', ...dataDir]);
  expect(profiles.map(({ name, base_url }: Record<string, string>) => [name, base_url])).toEqual([
    ['sandbox', url],
    ['second', secondSandbox.url],
  ]);
});

it('sandbox start of a stopped sandbox uses its port again, and a command that misses it suggests its profile', async () => {
  await startSandbox();
  const dataDir = ['--data-dir', join(cli.home, 'other')];
  const { url, pid } = await cli.json(['sandbox', 'start', '--port', '0', '--profile', 'second', ...dataDir]);
  await cli.run(['sandbox', 'stop', ...dataDir]);
  const { stderr } = await cli.run(['ls', '--profile', 'second']);
  expect(stderr).toContain('try:   mediactl --profile second sandbox start, if it is a sandbox');
  const again = await cli.json(['--profile', 'second', 'sandbox', 'start']);
  expect(again).toMatchObject({ url, profile: 'second' });
  expect(again.pid).not.toBe(pid);
  expect((await cli.run(['ls', '--profile', 'second'])).code).toBe(0);
});

it('sandbox reset suggests commands for the same directory', async () => {
  const dataDir = ['--data-dir', join(cli.home, 'other')];
  await cli.json(['sandbox', 'start', '--port', '0', '--profile', 'second', ...dataDir]);
  const place = `--data-dir ${join(cli.home, 'other')}`;
  expect((await cli.run(['sandbox', 'reset', ...dataDir])).stderr).toContain(`mediactl sandbox reset --yes ${place}`);
  expect((await cli.run(['sandbox', 'reset', '--yes', ...dataDir])).stderr).toContain(
    `mediactl sandbox start ${place}`,
  );
});

it('a start with a new profile, where the sandbox of another one runs, says how to start a second sandbox', async () => {
  await startSandbox();
  await cli.json(['upload', fixturePath('still.jpg'), '--wait']);
  const second = 'for a second sandbox: mediactl sandbox start';
  for (const [options, hint] of [
    [['--port', '1'], `${second} --data-dir DIR --profile acme --port 1`],
    [['--credits', '5'], `${second} --data-dir DIR --profile acme --port 0, with these options`],
    [['--seed', '5'], `${second} --seed NUMBER --data-dir DIR --profile acme --port 0`],
  ] as const) {
    const refused = await cli.run(['sandbox', 'start', '--profile', 'acme', ...options, '--json']);
    expect(errorOf(refused)).toEqual({ code: 'usage', exit: 2, hint });
  }
  const dataDir = ['--data-dir', join(cli.home, 'other')];
  const started = await cli.json(['sandbox', 'start', ...dataDir, '--profile', 'acme', '--port', '0']);
  expect(started.profile).toBe('acme');
});

describe('a second sandbox', () => {
  const dataDir = () => join(cli.home, 'other');

  it('every sandbox command selects a second sandbox with --profile, and suggests commands with the same option', async () => {
    const first = await startSandbox();
    const args = ['sandbox', 'start', '--port', '0', '--seed', '30', '--data-dir', dataDir()];
    const { code, stderr } = await cli.run([...args, '--profile', 'seeded']);
    expect(code).toBe(0);
    const suggestions = stderr.split('\n').filter((line) => line.startsWith('  mediactl'));
    expect(suggestions).toHaveLength(5);
    for (const suggestion of suggestions) expect(suggestion).toMatch(/ --profile seeded$/);

    const status = await cli.json(['sandbox', 'status', '--profile', 'seeded']);
    expect(status).toMatchObject({ running: true, data_dir: dataDir() });
    expect(await cli.json(['assets', 'ls', '--count', '--profile', 'seeded'])).toBe(30);
    await cli.json(['upload', fixturePath('still.jpg'), '--profile', 'seeded']);
    const logs = await cli.run(['sandbox', 'logs', '--lines', '100', '--profile', 'seeded']);
    expect(logs.stdout).toContain(`listening on ${status.url}`);
    expect((await cli.run(['sandbox', 'start', '--profile', 'seeded'])).stderr).toContain('already running');
    expect((await cli.run(['sandbox', 'stop', '--profile', 'seeded'])).stderr).toBe(
      `stopped the sandbox (pid ${status.pid})\n`,
    );
    const restarted = await cli.json(['sandbox', 'start', '--port', '0', '--profile', 'seeded']);
    expect(restarted).toMatchObject({ data_dir: dataDir(), profile: 'seeded' });
    expect((await cli.run(['sandbox', 'reset', '--yes', '--profile', 'seeded'])).stderr).toContain(
      `deleted the sandbox and profile seeded; to start a new one: mediactl --profile seeded sandbox start --data-dir ${dataDir()}`,
    );
    expect(existsSync(join(dataDir(), 'sandbox.db'))).toBe(false);

    const profiles = await cli.json(['auth', 'ls']);
    expect(profiles.map(({ name }: { name: string }) => name)).toEqual(['sandbox']);
    expect(await cli.json(['sandbox', 'status'])).toMatchObject({ url: first.url });
  });

  it('sandbox status and reset use the sandbox of the current profile', async () => {
    await startSandbox('--data-dir', dataDir(), '--profile', 'seeded');
    expect(await cli.json(['sandbox', 'status'])).toMatchObject({ running: true, data_dir: dataDir() });
    expect((await cli.run(['sandbox', 'reset', '--yes'])).code).toBe(0);
    expect(await cli.json(['auth', 'ls'])).toEqual([]);
  });

  it('sandbox commands exit with 4 if --profile is unknown, and with 2 if it belongs to another service', async () => {
    await startSandbox();
    await cli.run(
      ['auth', 'login', '--profile', 'prod', '--with-key', '--skip-verify', '--base-url', 'https://m.example'],
      { stdin: 'a-key' },
    );
    for (const [profile, exit] of [
      ['prod', 2],
      ['nobody', 4],
    ] as const)
      for (const verb of [['stop'], ['status'], ['logs'], ['reset', '--yes']])
        expect((await cli.run(['sandbox', ...verb, '--profile', profile])).code).toBe(exit);
    expect((await cli.json(['sandbox', 'status', '--profile', 'sandbox'])).running).toBe(true);
  });
});

it('the keys with fewer scopes in credentials.json make profiles that are refused what they lack', async () => {
  const { url, data_dir } = await startSandbox();
  const { keys } = JSON.parse(readFileSync(join(data_dir, 'credentials.json'), 'utf8'));
  for (const name of ['read', 'write'])
    await cli.run(['login', '--profile', name, '--with-key', '--base-url', url], { stdin: keys[name] });
  const createFolderAs = (profile: string) => cli.run(['folders', 'create', '/New', '--profile', profile]);
  expect((await createFolderAs('read')).code).toBe(5);
  expect((await createFolderAs('write')).code).toBe(0);
  expect((await cli.run(['folders', 'rm', '/New', '--yes', '--profile', 'write'])).code).toBe(5);
});

it('sandbox start warns and creates new API keys if its database is empty', async () => {
  await startSandbox();
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

it('sandbox start exits with 1, suggests a fix and deletes nothing if its database is corrupt', async () => {
  await startSandbox();
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
])('sandbox start exits with 2 if it cannot create the directory of %s', async (_what, args, environment) => {
  const { code, stderr } = await cli.run(['sandbox', 'start', '--port', '0', ...args], { environment });
  expect([code, stderr.split('\n')[0]]).toEqual([
    2,
    expect.stringMatching(/^error: cannot create the directory \/proc\/nope/),
  ]);
});

it('simultaneous sandbox start commands start one process and all exit with 0', async () => {
  const starts = await Promise.all([0, 1, 2].map(() => cli.run(['sandbox', 'start', '--port', '0', '--json'])));
  expect(starts.map(({ code }) => code)).toEqual([0, 0, 0]);
  expect(new Set(starts.map(({ stdout }) => JSON.parse(stdout).pid)).size).toBe(1);
});

it('sandbox start keeps the workspace and settings of its profile', async () => {
  await startSandbox();
  await cli.run(['workspaces', 'use', 'Archive']);
  await cli.run(['config', 'set', 'max_wait', '10m']);
  const workspace = await cli.json(['config', 'get', 'workspace']);
  await cli.run(['sandbox', 'stop']);
  await startSandbox();
  expect(await cli.json(['config', 'get', 'workspace'])).toBe(workspace);
  expect(await cli.json(['config', 'get', 'max_wait'])).toBe('10m');
});

it('sandbox status reports whether the sandbox is running, and its URL', async () => {
  expect(await cli.json(['sandbox', 'status'])).toMatchObject({ running: false, url: null });
  const { url } = await startSandbox();
  const status = await cli.json(['sandbox', 'status']);
  expect(status).toMatchObject({ running: true, url });
});

it('the files of the sandbox that contain secrets have mode 0600', async () => {
  await startSandbox();
  for (const file of ['credentials.json', 'secret', 'server.json', 'sandbox.log'])
    expect(statSync(join(cli.home, 'state/sandbox', file)).mode & 0o777).toBe(0o600);
  expect(statSync(join(cli.home, 'state/sandbox')).mode & 0o777).toBe(0o700);
});

it('the sandbox has a read-only API key, with which upload exits with 5', async () => {
  const { url } = await startSandbox();
  const { keys } = JSON.parse(readFileSync(join(cli.home, 'state/sandbox/credentials.json'), 'utf8'));
  const environment = { MEDIACTL_API_KEY: keys.read, MEDIACTL_BASE_URL: url, MEDIACTL_WORKSPACE: 'Main' };
  expect((await cli.run(['assets', 'ls'], { environment })).code).toBe(0);
  expect((await cli.run(['upload', fixturePath('still.jpg')], { environment })).code).toBe(5);
});

it('sandbox reset exits with 2 without --yes, and deletes all data with --yes', async () => {
  await startSandbox();
  await cli.json(['upload', fixturePath('still.jpg')]);
  const { code, stderr } = await cli.run(['sandbox', 'reset']);
  expect([code, stderr.includes('mediactl sandbox reset --yes')]).toEqual([2, true]);
  expect((await cli.run(['sandbox', 'reset', '--dry-run'])).code).toBe(0);
  expect((await cli.run(['sandbox', 'reset', '--yes'])).code).toBe(0);
  expect(existsSync(join(cli.home, 'state/sandbox/sandbox.db'))).toBe(false);
  await startSandbox();
  expect(await cli.json(['assets', 'ls'])).toEqual([]);
});

it('sandbox logs -f prints new lines, also after a log rotation, until it is interrupted', async () => {
  await startSandbox();
  const log = join(cli.home, 'state/sandbox/sandbox.log');
  const interruption = new AbortController();
  let output = '';
  const following = cli.run(['sandbox', 'logs', '-f', '--lines', '1'], {
    signal: interruption.signal,
    clock: acceleratedClock(),
    onStdout: (text) => {
      output = text;
    },
  });
  await expect.poll(() => output).toContain('GET /health 200');
  await cli.run(['assets', 'ls']);
  // Rotates the log as the sandbox does when it is full; the running sandbox writes on to the renamed file.
  renameSync(log, `${log}.1`);
  await cli.run(['workspaces', 'ls']);
  while (!readFileSync(`${log}.1`, 'utf8').includes('/workspaces/ 200'))
    await new Promise((resolve) => setTimeout(resolve, 10));
  writeFileSync(log, 'from the new one\n');
  await expect.poll(() => output).toContain('from the new one');
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

it('sandbox start rotates a log that is too large', async () => {
  const running = await startSandbox();
  await cli.run(['sandbox', 'stop']);
  const log = join(cli.home, 'state/sandbox/sandbox.log');
  truncateSync(log, 600_000_000); // a sparse file, as large as logs of an older version
  await startSandbox();
  expect(statSync(log).size).toBeLessThan(10_000);
  expect(statSync(`${log}.1`).size).toBe(600_000_000);
  const { stdout } = await cli.run(['sandbox', 'logs', '--lines', '2']);
  expect(stdout).toContain('listening on');
  expect(stdout).not.toContain(running.url);
});

it('sandbox logs prints one line per request', async () => {
  expect((await cli.run(['sandbox', 'logs'])).code).toBe(3);
  await startSandbox();
  await cli.run(['assets', 'ls']);
  const { stdout } = await cli.run(['sandbox', 'logs', '--lines', '1']);
  expect(stdout).toMatch(/^\S+Z GET \/api\/external\/v1\/assets\/ 200 \d+ ms\n$/);
});

it('sandbox start exits with 1 and prints the reason if the port is in use', async () => {
  const { url } = await startSandbox();
  const otherDataDir = join(cli.home, 'other');
  const { code, stderr } = await cli.run(['sandbox', 'start', '--data-dir', otherDataDir, '--port', new URL(url).port]);
  expect(code).toBe(1);
  expect(stderr).toContain('error: the sandbox did not start');
  expect(stderr).toContain('EADDRINUSE');
  const asJson = ['sandbox', 'start', '--data-dir', otherDataDir, '--port', new URL(url).port, '--json'];
  expect(errorOf(await cli.run(asJson))).toEqual({
    code: 'sandbox_failed',
    exit: 1,
    hint: 'mediactl sandbox start --port 0, to use any free port',
  });
});

it('sandbox reset deletes nothing if the sandbox does not stop, and suggests kill -9', async () => {
  const { pid } = await startSandbox();
  process.kill(pid, 'SIGSTOP');
  const reset = await cli.run(['sandbox', 'reset', '--yes', '--json'], { clock: acceleratedClock() });
  process.kill(pid, 'SIGCONT');
  expect(errorOf(reset)).toEqual({
    code: 'sandbox_failed',
    exit: 1,
    hint: `kill -9 ${pid}, if that process is the sandbox; acknowledged uploads are kept`,
  });
});

it('sandbox start exits with 2 and keeps a profile named sandbox that belongs to another service', async () => {
  const login = ['auth', 'login', '--profile', 'sandbox', '--with-key', '--skip-verify'];
  await cli.run([...login, '--base-url', 'https://media.example.com'], { stdin: 'a-key-of-theirs' });
  expect(errorOf(await cli.run(['sandbox', 'start', '--port', '0', '--json']))).toEqual({
    code: 'usage',
    exit: 2,
    hint: 'mediactl sandbox start --profile OTHER',
  });
  const config = readFileSync(join(cli.home, 'config/config.json'), 'utf8');
  expect(config).toContain('a-key-of-theirs');
});

it('sandbox start does not change the current profile if there is one', async () => {
  await cli.run(['auth', 'login', '--base-url', 'https://media.example.com', '--with-key', '--skip-verify'], {
    stdin: 'a-key-of-theirs',
  });
  await startSandbox();
  const profiles = await cli.json(['auth', 'ls']);
  expect(profiles.map(({ name, current }: never) => [name, current])).toEqual([
    ['default', true],
    ['sandbox', false],
  ]);
});
