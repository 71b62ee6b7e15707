import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FaultProxy, respondWith } from '../support/fault-proxy.ts';
import { startServer } from '../support/http-server.ts';
import { Pty, shellQuote } from '../support/pty.ts';
import { fixturePath, startSandbox, type TestSandbox } from '../support/sandbox.ts';
import { Screen } from '../support/screen.ts';
import { mediactl, mediactlCommand, startProcess } from '../support/spawn.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

let sandbox: TestSandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.end());

const environment = (home: string, more = {}) => ({
  MEDIACTL_CONFIG_DIR: join(home, 'config'),
  MEDIACTL_STATE_DIR: join(home, 'state'),
  MEDIACTL_KEY_STORE: 'file',
  MEDIACTL_API_KEY: sandbox.key,
  MEDIACTL_BASE_URL: sandbox.url,
  MEDIACTL_WORKSPACE: sandbox.workspace,
  TERM: 'xterm',
  NO_COLOR: '1',
  ...more,
});

describe('terminal', { tags: 'script' }, () => {
  it('auth login prompts for the key and does not echo it', async () => {
    const pty = new Pty(
      [...mediactlCommand, 'auth', 'login', '--base-url', sandbox.url],
      environment(temporaryFolder(), { MEDIACTL_API_KEY: undefined, MEDIACTL_BASE_URL: undefined }),
    );
    await pty.answer('API key:', `${sandbox.key}\n`);
    expect(await pty.exited).toBe(0);
    expect(pty.output).toContain('key in     file');
    expect(pty.output).not.toContain(sandbox.key);
  });

  it('upload shows a countdown after a 429, both before the first byte and below the progress bar', async () => {
    const proxy = await FaultProxy.start(sandbox.url, ({ method, nth }) =>
      method === 'POST' && nth === 1
        ? respondWith(429, { error: {} }, { 'retry-after': '3' })
        : method === 'PATCH' && nth === 2
          ? respondWith(429, { error: {} }, { 'retry-after': '3' })
          : undefined,
    );
    const pty = new Pty(
      [...mediactlCommand, 'upload', '--existing', 'upload', fixturePath('clip.mp4'), '--chunk-size', '300KiB'],
      environment(temporaryFolder(), { MEDIACTL_BASE_URL: proxy.url }),
      120,
    );
    expect(await pty.exited).toBe(0);
    const barStart = pty.output.indexOf('▒   99% ');
    for (const output of [pty.output.slice(0, barStart), pty.output.slice(barStart)]) {
      const countdowns = new Set(output.match(/rate limit reached: retrying in \ds/g));
      expect(countdowns.size).toBeGreaterThan(1);
    }
    expect(pty.output).not.toMatch(/ETA[^\n]*\n[^\n]*rate limit/);
  });

  it('upload prints lines instead of a progress bar on a terminal without a width', async () => {
    const command = [...mediactlCommand, 'upload', '--existing', 'upload', fixturePath('still.jpg'), '--wait'];
    const pty = new Pty(command, environment(temporaryFolder()), 0);
    expect(await pty.exited).toBe(0);
    expect(pty.output).toContain('still.jpg: ready');
    expect(pty.output.length).toBeLessThan(2000);
  });

  it.each([40, 80])(
    'long log lines leave no fragments of the progress bar on a terminal with %i columns',
    async (columns) => {
      const directory = temporaryFolder();
      for (let n = 0; n < 9; n++) writeFileSync(join(directory, `shot ${columns} ${n}.txt`), Buffer.alloc(120_000, n));
      const screen = new Screen(
        shellQuote([
          ...[...mediactlCommand, 'upload', '--flatten', directory, '--debug=http'],
          ...['--limit-rate', '300KiB', '--chunk-size', '20KiB'],
        ]),
        environment(temporaryFolder(), { TERM: 'xterm-256color', LANG: 'C.UTF-8' }),
        { columns },
      );
      await screen.waitForText(/of 9 files[\s\S]*% of/);
      expect(await screen.exited).toBe(0);
      expect(screen.lines.filter((line) => /% of |of 9 files/.test(line))).toEqual([]);
    },
  );

  it('a program that is killed between frames of its progress bar leaves a terminal that wraps lines', async () => {
    const pidFile = join(temporaryFolder(), 'pid');
    const upload = shellQuote([
      ...[...mediactlCommand, 'upload', '--existing', 'upload', fixturePath('clip.mp4')],
      ...['--chunk-size', '20KiB', '--limit-rate', '50KiB'],
    ]);
    const pty = new Pty(
      ['sh', '-c', `echo $$ > ${pidFile}; exec ${upload.replaceAll("'", '')}`],
      environment(temporaryFolder()),
    );
    const framesAfter = () => pty.output.split('% ').length;
    await expect.poll(framesAfter).toBeGreaterThan(4);
    process.kill(Number(readFileSync(pidFile, 'utf8')), 'SIGKILL');
    await pty.exited;
    const count = (mode: string) => pty.output.split(`\u001b[?7${mode}`).length - 1;
    expect(count('l')).toBeGreaterThan(2);
    expect(count('h')).toBeGreaterThanOrEqual(count('l') - 1); // the kill can be in the middle of a frame
  });

  it('upload shows a progress bar of the sent bytes and then the result', async () => {
    // A short name: the result is cut to the width of the terminal.
    const folder = temporaryFolder();
    copyFileSync(fixturePath('clip.mp4'), join(folder, 'clip.mp4'));
    const pty = new Pty(
      [
        ...['env', '-C', folder, ...mediactlCommand, 'upload', '--existing', 'upload', 'clip.mp4', '--wait'],
        ...['--chunk-size', '100KiB', '--limit-rate', '100KiB'],
      ],
      environment(temporaryFolder()),
    );
    expect(await pty.exited).toBe(0);
    expect(pty.output).toContain('█');
    expect(pty.output).toMatch(/▒[\s\S]*% +\d+\.\d KiB of 421\.8 KiB +\d+\.\d KiB\/s +ETA \d+s/);
    expect(pty.output).toMatch(/uploaded, verified \(BLAKE3\)/);
    expect(pty.output).toMatch(/ready, verified/);
  });
});

describe('pipe', () => {
  it('assets ls piped to head -1 exits with 0 and prints no error', async () => {
    const home = temporaryFolder();
    const service = await startServer((request, response) => {
      const { searchParams } = new URL(request.url ?? '', 'http://x');
      const offset = Number(searchParams.get('offset'));
      const items = Array.from({ length: Math.min(100, 3000 - offset) }, (_, n) => ({
        uid: `uid-${offset + n}`,
        name: 'x'.repeat(500),
      }));
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ items, count: 3000 }));
    });
    const list = shellQuote([...mediactlCommand, 'assets', 'ls', '--all', '--jsonl']);
    const env = environment(home, { MEDIACTL_BASE_URL: service });
    const piped = await startProcess('bash', ['-c', `${list} | head -1; echo "\${PIPESTATUS[0]}" >&2`], env).finished;
    expect(piped.stdout.split('\n')).toHaveLength(2);
    expect(piped.stderr).toBe('0\n');
    const byteCount = await startProcess('bash', ['-c', `${list} | (sleep 0.5; wc -c)`], env).finished;
    const unpiped = await mediactl(['assets', 'ls', '--all', '--jsonl'], env).finished;
    expect(unpiped.stdout.length).toBeGreaterThan(1_500_000);
    expect(Number(byteCount.stdout)).toBe(unpiped.stdout.length);
  });
});

it('the built program prints its version', async () => {
  const { code, stdout, stderr } = await mediactl(['--version'], {}).finished;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});
