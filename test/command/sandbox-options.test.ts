import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { writeRandomFile } from '../support/files.ts';
import { fixturePath } from '../support/sandbox.ts';

let cli: Cli;
beforeEach(() => {
  cli = new Cli();
});
afterEach(() => cli.run(['sandbox', 'stop']));

const startSandbox = (...args: string[]) => cli.run(['sandbox', 'start', '--port', '0', ...args]);
const sandboxStatus = () => cli.json(['sandbox', 'status']);

describe('sandbox start --fault', () => {
  it('sandbox start --fault injects faults that upload survives, and status and log list them', async () => {
    await startSandbox('--fault', 'cut-after=1MiB,times=2', '--fault', 'status=503,path=/upload/,times=1');
    expect((await sandboxStatus()).faults).toEqual([
      { fault: 'cut-after=1MiB,times=2', remaining_count: 2 },
      { fault: 'status=503,path=/upload/,times=1', remaining_count: 1 },
    ]);
    writeRandomFile(`${cli.home}/a.bin`, { size: 3 * 1024 * 1024 });
    const [record] = await cli.json(['upload', `${cli.home}/a.bin`]);
    expect(record.verified).toBe(true);
    expect((await sandboxStatus()).faults).toEqual([]);
    const { stdout } = await cli.run(['sandbox', 'logs']);
    expect(stdout.match(/fault cut-after=1MiB,times=2 at PATCH/g)).toHaveLength(2);
  });

  it('sandbox start exits with 2 and lists the known faults if --fault is unknown', async () => {
    const { code, stderr } = await startSandbox('--fault', 'cut-aftr=1MiB');
    expect(code).toBe(2);
    expect(stderr).toContain("cause: --fault 'cut-aftr=1MiB': unknown fault 'cut-aftr'");
    expect(stderr).toContain('the faults are cut-after=SIZE, silent-after=SIZE');
    expect((await sandboxStatus()).running).toBe(false);
  });
});

it('sandbox start --seed creates assets in an empty sandbox, and exits with 2 if it has assets', async () => {
  await startSandbox('--seed', '250');
  expect(await cli.json(['assets', 'ls', '--count'])).toBe(250);
  await cli.run(['sandbox', 'stop']);
  const { code, stderr } = await startSandbox('--seed', '250');
  expect(code).toBe(2);
  expect(stderr).toContain('--seed needs an empty sandbox, but this one already has assets');
  expect(stderr).toContain('try:   mediactl sandbox reset --profile sandbox, then start it with');
  await startSandbox();
  expect(await cli.json(['assets', 'ls', '--count'])).toBe(250);
});

it('sandbox start --seed suggests another data directory if the sandbox has uploads', async () => {
  await startSandbox();
  await cli.json(['upload', fixturePath('still.jpg')]);
  for (const isStopped of [false, true]) {
    if (isStopped) await cli.run(['sandbox', 'stop']);
    const { code, stderr } = await startSandbox('--seed', '250');
    expect([code, stderr.split('\n')[0]]).toEqual([
      2,
      'error: --seed needs an empty sandbox, but this one already has assets',
    ]);
    expect(stderr).toContain('mediactl sandbox start --seed NUMBER --data-dir DIR --profile NAME');
    expect(stderr).not.toContain('logs');
  }
  expect((await sandboxStatus()).running).toBe(false);
});

it('sandbox start applies --strict, --rate-limit, --credits and --max-upload-size to the service', async () => {
  const limits = ['--rate-limit', '50/10m', '--credits', '1', '--max-upload-size', '1MiB'];
  await startSandbox('--strict', ...limits);
  const response = await cli.run(['api', '/assets/', '-i']);
  expect(response.stdout).toMatch(/^x-ratelimit-limit: 50$/m);
  expect(response.stdout).toMatch(/^\{"items":\[\]\}$/m);
  writeRandomFile(`${cli.home}/large.bin`, { size: 1024 * 1024 + 1 });
  expect((await cli.run(['upload', `${cli.home}/large.bin`])).stderr).toContain('413');
  const [record] = await cli.json(['upload', fixturePath('still.jpg')]);
  expect(record.asset_uid).toBeTruthy();
  expect((await cli.run(['upload', fixturePath('tone.mp3')])).stderr).toContain('402');
});

it('sandbox start --storage limits the total size of all uploads', async () => {
  await startSandbox('--storage', '1k');
  expect((await cli.run(['upload', fixturePath('still.jpg')])).stderr).toContain('507');
});

it.each([
  [['--rate-limit', '5'], "--rate-limit does not accept '5'"],
  [['--rate-limit', '5/10x'], "--rate-limit does not accept '10x'"],
  [['--rate-limit', '5/0s'], "--rate-limit does not accept '5/0s'"],
  [['--session-lifetime', 'soon'], "--session-lifetime does not accept 'soon'"],
  [['--credits', '-1'], "--credits does not accept '-1'"],
  [['--storage', 'x'], "--storage does not accept 'x'"],
  [['--seed', '0'], "--seed does not accept '0'"],
  [['--port', '65536'], "--port does not accept '65536'"],
])('sandbox start with %j exits with 2 and starts nothing', async (args, problem) => {
  const { code, stderr } = await startSandbox(...args);
  expect([code, stderr.split('\n')[0]]).toEqual([2, `error: ${problem}`]);
  expect((await sandboxStatus()).running).toBe(false);
});

it('sandbox start exits with 2 if a sandbox with other options is running, and with 0 if they match', async () => {
  const faults = ['--fault', 'latency=1ms', '--fault', 'no-checksum'];
  await startSandbox('--credits', '7', '--strict', '--rate-limit', '500/1m', ...faults);
  const started = '--strict --fault=latency=1ms --fault=no-checksum --rate-limit=500/60 --credits=7';
  const others = [['--credits', '9'], ['--rate-limit', '500/2m'], ['--fault', 'latency=2ms'], ['--auto-play']];
  for (const args of others) {
    const { code, stderr } = await startSandbox(...args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(`it was started with ${started}\n`)]);
  }
  const same = [[], ['--strict'], ['--credits', '7'], ['--rate-limit', '500/60s'], faults.slice(2)];
  for (const args of same) expect((await startSandbox(...args)).code).toBe(0);
});
