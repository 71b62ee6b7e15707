import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { assetUid, createLibrary } from '../support/fake-library.ts';
import { FaultProxy, respondWith } from '../support/fault-proxy.ts';
import { writeRandomFile } from '../support/files.ts';
import { shellQuote } from '../support/pty.ts';
import { startRecordingServer } from '../support/recording-server.ts';
import { onPath } from '../support/requirements.ts';
import { startSandbox, type TestSandbox } from '../support/sandbox.ts';
import { Screen } from '../support/screen.ts';
import { mediactl, mediactlCommand } from '../support/spawn.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/* Prompts for omitted arguments, interactive login and the pager, on a real terminal. */

const assetCount = 60;
let sandbox: TestSandbox;
beforeAll(async () => {
  sandbox = await startSandbox({ strict: false, seed: assetCount });
});
afterAll(() => sandbox.end());

let home: string;
const environment = (more = {}) => ({
  MEDIACTL_CONFIG_DIR: join(home, 'config'),
  MEDIACTL_STATE_DIR: join(home, 'state'),
  MEDIACTL_KEY_STORE: 'file',
  TERM: 'xterm-256color',
  LANG: 'C.UTF-8',
  NO_COLOR: '1',
  ...more,
});
const signedIn = (more = {}) =>
  environment({
    MEDIACTL_API_KEY: sandbox.key,
    MEDIACTL_BASE_URL: sandbox.url,
    MEDIACTL_WORKSPACE: sandbox.workspace,
    ...more,
  });
beforeEach(() => {
  home = temporaryFolder();
});

const commandLine = (...args: string[]) => [...mediactlCommand, ...args];

describe('prompts', { tags: 'script' }, () => {
  it('get without an id prompts with the names of the newest assets', async () => {
    const screen = new Screen(commandLine('get'), signedIn(), { columns: 100 });
    await screen.waitForText(/Which asset\?[\s\S]*❯ .*\n/);
    const [, second = ''] = screen.lines.filter((line) => /^[❯ ] \S/.test(line));
    screen.type('\u001b[B\r'); // Down, Enter
    await screen.waitForText(/^uid +[0-9a-f-]{36}/m);
    const name = /^name +(.*)$/m.exec(screen.lines.join('\n'))?.[1] as string;
    expect(second).toContain(name);
    expect(await screen.exited).toBe(0);
  });

  it('Ctrl-C at a prompt changes nothing and exits with 130', async () => {
    const screen = new Screen(commandLine('rm'), signedIn(), { columns: 100 });
    await screen.waitForText(/Which asset\?/);
    screen.type('\u0003'); // Ctrl-C
    expect(await screen.exited).toBe(130);
    expect(screen.lines.join('\n')).toContain('nothing was changed');
  });

  it('auth switch prompts for a profile', async () => {
    const login = (profile: string) =>
      `printf %s ${sandbox.key} | ${shellQuote(commandLine('auth', 'login', '--with-key', '--profile', profile, '--base-url', sandbox.url))}`;
    const screen = new Screen(
      `${login('one')}; ${login('two')}; ${shellQuote(commandLine('auth', 'switch'))}`,
      environment(),
      { columns: 100 },
    );
    await screen.waitForText(/Which profile\?[\s\S]*❯ one +.*\n +two .* current/);
    screen.type('\r');
    expect(await screen.exited).toBe(0);
    const config = JSON.parse(readFileSync(join(home, 'config/config.json'), 'utf8'));
    expect(config.current).toBe('one');
  });

  it('uploads retry, which is uploads resume, prompts for one of several uploads of the account or all of them', async () => {
    let isBroken = true;
    const { key, url, workspace, end } = await startSandbox();
    const proxy = await FaultProxy.start(url, ({ method }) =>
      isBroken && method === 'PATCH' ? respondWith(402, { error: {} }) : undefined,
    );
    const variables = environment({
      MEDIACTL_API_KEY: key,
      MEDIACTL_BASE_URL: proxy.url,
      MEDIACTL_WORKSPACE: workspace,
    });
    for (const name of ['one.bin', 'two.bin']) {
      writeRandomFile(join(home, name), { size: 3000 });
      expect((await mediactl(['upload', join(home, name)], variables).finished).code).toBe(7);
    }
    const other = await FaultProxy.start(url, ({ method }) =>
      method === 'PATCH' ? respondWith(402, { error: {} }) : undefined,
    );
    writeRandomFile(join(home, 'other.bin'), { size: 3000 });
    await mediactl(['upload', join(home, 'other.bin')], { ...variables, MEDIACTL_BASE_URL: other.url }).finished;
    isBroken = false;
    const screen = new Screen(commandLine('uploads', 'retry'), variables, { columns: 120 });
    await screen.waitForText(/Which upload\?\s+❯ all 2\s+\S*one\.bin.*\s+\S*two\.bin/);
    screen.type('\r');
    await screen.waitForText(/2 uploaded/);
    expect(await screen.exited).toBe(0);
    await end();
  });
});

it('SIGTERM at a prompt restores the terminal and exits with 143', { tags: 'script' }, async () => {
  const pid = join(home, 'pid');
  const screen = new Screen(`echo $$ > ${pid}; exec ${shellQuote(commandLine('get'))}`, signedIn(), { columns: 100 });
  await screen.waitForText(/Which asset\?/);
  process.kill(Number(readFileSync(pid, 'utf8')), 'SIGTERM');
  expect(await screen.exited).toBe(143);
  expect(screen.lines.join('\n')).toContain('terminated');
});

describe('login', { tags: 'script' }, () => {
  const login = (...args: string[]) =>
    new Screen(commandLine('login', '--base-url', sandbox.url, ...args), environment(), { columns: 100 });

  it('login says where to create a key, masks it, allows another attempt and prints the workspace', async () => {
    const screen = login();
    await screen.waitForText(/Create an API key at 127\.0\.0\.1:\d+, in the organization’s settings under API keys/);
    await screen.waitForText(/API key:/);
    screen.type('wrong-key');
    await screen.waitForText(/API key: •{9}/);
    screen.type('\r');
    await screen.waitForText(/rejected this API key[\s\S]*API key:/);
    screen.type(`${sandbox.key}\r`);
    expect(await screen.exited).toBe(0);
    const screenText = screen.lines.join('\n');
    expect(screenText).toContain(`logged in to ${sandbox.url} as profile default`);
    expect(screenText).toMatch(/workspace +Main/);
    expect(screenText).not.toContain(sandbox.key);
    expect(screenText).not.toContain('wrong-key');
  });

  it('login asks before it changes a profile to another service', async () => {
    const otherSandbox = await startSandbox({ strict: false });
    const first = login();
    await first.waitForText(/API key:/);
    first.type(`${sandbox.key}\r`);
    await first.exited;
    const screen = new Screen(commandLine('login', '--base-url', otherSandbox.url), environment(), { columns: 100 });
    await screen.waitForText(/Profile default is for .*Change it to .*\[y\/N\]/);
    screen.type('\r');
    expect(await screen.exited).toBe(130);
    const { profiles } = JSON.parse(readFileSync(join(home, 'config/config.json'), 'utf8'));
    expect(profiles.default.baseUrl).toBe(sandbox.url);
    await otherSandbox.end();
  });
});

describe('pager', { tags: 'script' }, () => {
  const runWithPager = (args: string[], more = {}) =>
    new Screen(commandLine(...args), signedIn({ PAGER: "sed 's/^/paged: /'", NO_PAGER: undefined, ...more }), {
      columns: 100,
      rows: 24,
    });

  it('the pager shows output longer than the terminal and does not receive the API key', async () => {
    const pagerEnvironment = join(home, 'environment');
    const screen = runWithPager(['ls', '--all'], { PAGER: `env > ${pagerEnvironment}; sed 's/^/paged: /'` });
    expect(await screen.exited).toBe(0);
    expect(screen.lines.filter((line) => line.startsWith('paged: '))).toHaveLength(61); // a header and 60 assets
    expect(readFileSync(pagerEnvironment, 'utf8')).toContain('LESS=FRX');
    expect(readFileSync(pagerEnvironment, 'utf8')).not.toContain(sandbox.key);
  });

  it.each([
    [['ls', '--limit', '5'], {}],
    [['ls', '--all', '--no-pager'], {}],
    [['ls', '--all'], { MEDIACTL_PAGER: 'cat' }],
    [['ls', '--all'], { CI: 'true' }],
    [['ls', '--all'], { NO_PAGER: '1' }],
    [['ls', '--all'], { NO_PAGER: '1', MEDIACTL_PAGER: "sed 's/^/paged: /'" }],
    [['ls', '--all'], { PAGER: '' }],
  ])('the pager does not start with the arguments %j and the environment %j', async (args, more) => {
    const screen = runWithPager(args, more);
    expect(await screen.exited).toBe(0);
    expect(screen.lines.join('\n')).not.toContain('paged:');
  });

  it('less shows long output without a PAGER, and quitting it early exits with 0 and prints no error', {
    tags: 'less',
  }, async () => {
    const screen = runWithPager(['ls', '--all'], { PAGER: undefined });
    await screen.waitForText(/^:$/m); // its prompt
    screen.type('q');
    expect(await screen.exited).toBe(0);
    expect(screen.lines.join('\n')).not.toMatch(/error|warning/);
    expect(screen.lines.filter((line) => /ago|\d{4}-\d\d-\d\d/.test(line)).length).toBeLessThan(assetCount);
  });

  it('less exits at once if the output fits the terminal', { tags: 'less' }, async () => {
    const screen = runWithPager(['ls', '--limit', '15'], { PAGER: undefined });
    expect(await screen.exited).toBe(0);
    expect(screen.lines.filter((line) => /ago|\d{4}-\d\d-\d\d/.test(line)).length).toBe(15);
  });

  it('without a PAGER and without less, the output is printed without a pager and without a warning', async () => {
    const folder = temporaryFolder();
    for (const program of ['bash', 'sh', 'node', 'stty', 'tty'])
      for (const path of onPath(program).slice(0, 1)) symlinkSync(path, join(folder, program));
    const line = `PATH=${folder} ${shellQuote(commandLine('ls', '--all'))}`;
    const screen = new Screen(line, signedIn({ NO_PAGER: undefined, PAGER: undefined }), { columns: 100, rows: 40 });
    expect(await screen.exited).toBe(0);
    expect(screen.lines.join('\n')).not.toMatch(/error|warning|less/);
    expect(screen.lines.filter((line) => /ago|\d{4}-\d\d-\d\d/.test(line)).length).toBe(assetCount);
  });

  it('the pager also shows JSON, and quitting it early exits with 0 and prints no error', async () => {
    const jsonScreen = runWithPager(['ls', '--all', '--json']);
    expect(await jsonScreen.exited).toBe(0);
    const lines = jsonScreen.lines.filter((line) => line !== 'all workspaces'); // stderr
    expect(lines.every((line) => line.startsWith('paged: '))).toBe(true);
    const quitEarly = runWithPager(['ls', '--all', '--jsonl'], { PAGER: 'head -1 > /dev/null; exit 0' });
    expect(await quitEarly.exited).toBe(0);
    expect(quitEarly.lines.join('\n')).not.toContain('error');
  });

  it('a missing pager causes a warning, and the output is printed without a pager', async () => {
    const screen = runWithPager(['ls', '--all'], { PAGER: 'no-such-pager' });
    expect(await screen.exited).toBe(0);
    const screenText = screen.lines.join('\n');
    expect(screenText).toContain('warning: cannot run the pager: no-such-pager');
    expect(screen.lines.filter((line) => /ago|\d{4}-\d\d-\d\d/.test(line)).length).toBe(assetCount);
  });

  it('Ctrl-C interrupts mediactl after the pager has quit early', async () => {
    const service = await startRecordingServer(({ query }) =>
      query.offset === '0'
        ? {
            body: { items: Array.from({ length: 100 }, (_, n) => ({ uid: `u${n}`, name: 'x' })), count: 300 },
          }
        : { status: 429, body: { error: {} }, headers: { 'retry-after': '300' } },
    );
    const screen = runWithPager(['ls', '--all', '--jsonl'], {
      PAGER: 'head -3; echo left $$',
      MEDIACTL_BASE_URL: service.url,
    });
    await screen.waitForText(/^left \d+$/m);
    const pid = Number(/^left (\d+)$/m.exec(screen.lines.join('\n'))?.[1]);
    // Until mediactl has collected the pager's process, Ctrl-C is for the pager.
    await expect.poll(() => existsSync(`/proc/${pid}`)).toBe(false);
    screen.type('\u0003'); // Ctrl-C
    expect(await screen.exited).toBe(130);
  });
});

it('ls prints the shown and total number of assets below the table', { tags: 'script' }, async () => {
  const screen = new Screen(commandLine('ls'), signedIn(), { columns: 100, rows: 40 });
  expect(await screen.exited).toBe(0);
  expect(screen.lines.at(-1)).toBe('20 of 60; --all for all, --limit for more; all workspaces');
});

describe('wait on a terminal', { tags: 'script' }, () => {
  it('assets wait shows the asset and the elapsed time and then clears the line', async () => {
    const metadata = `filename ${btoa('slow.mov')},workspace_uid ${btoa(sandbox.workspace)}`;
    const created = await fetch(`${sandbox.url}/api/external/v1/upload/`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${sandbox.key}`,
        'tus-resumable': '1.0.0',
        'upload-length': '9',
        'upload-metadata': metadata,
      },
    });
    const { asset_uid: uid } = (await created.json()) as { asset_uid: string };
    const screen = new Screen(commandLine('assets', 'wait', uid, '--timeout', '8s'), signedIn(), { columns: 80 });
    await screen.waitForText(/^\S slow\.mov: uploading {2}\ds$/m);
    expect(await screen.exited).toBe(8);
    expect(screen.lines[0]).toMatch(/^error: asset .* is still uploading/);
  });

  it('assets wait shows how many of several assets are ready', async () => {
    const list = async (...args: string[]) =>
      (await mediactl(['ls', ...args, '-q'], signedIn()).finished).stdout.trim().split('\n');
    const ready = await list('--status', 'ready', '--limit', '2');
    const [slow = ''] = await list('slow');
    const args = ['assets', 'wait', ...ready, slow, '--timeout', '8s'];
    const screen = new Screen(commandLine(...args), signedIn(), { columns: 80 });
    await screen.waitForText(/^\S 2 of 3 ready/m);
    expect(await screen.exited).toBe(11);
  });
});

it('without a primary workspace, a command prompts for one, and exits with 2 in a pipe', {
  tags: 'script',
}, async () => {
  const uid = (n: number) => `${n}0000000-0000-4000-8000-000000000000`;
  const service = await startRecordingServer(({ path }) =>
    path.endsWith('/folders/')
      ? { body: [] }
      : { body: { items: [1, 2].map((n) => ({ uid: uid(n), name: `Studio ${n}` })), count: 2 } },
  );
  const withoutWorkspace = signedIn({ MEDIACTL_BASE_URL: service.url, MEDIACTL_WORKSPACE: undefined });
  const screen = new Screen(commandLine('folders', 'ls'), withoutWorkspace, { columns: 80 });
  await screen.waitForText(/Which workspace\?\s+❯ Studio 1/);
  screen.type('\u001b[B\r'); // Down, Enter
  expect(await screen.exited).toBe(0);
  expect(service.requests.at(-1)?.path).toContain(uid(2));
  expect((await mediactl(['folders', 'ls'], withoutWorkspace).finished).code).toBe(2);
});

it('play --web prints the path of its page and warns if no program can open it', async () => {
  const service = await startRecordingServer(createLibrary());
  const withoutPrograms = signedIn({ PATH: '/nowhere', MEDIACTL_BASE_URL: service.url });
  const { code, stdout, stderr } = await mediactl(['play', assetUid, '--web'], withoutPrograms).finished;
  expect([code, stderr]).toEqual([0, expect.stringContaining('no program can open it')]);
  expect(stdout).toMatch(/\.html\n$/);
});
