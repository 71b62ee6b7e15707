import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { mediactl } from '../support/spawn.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

let home: string;
beforeEach(() => {
  home = temporaryFolder();
});
afterEach(() => runSandbox(['stop']).then(({ code }) => expect(code).toBe(0)));

/** Runs `mediactl sandbox …` with additional environment variables. */
const runSandbox = (args: string[], environment: Record<string, string> = {}) =>
  mediactl(['sandbox', ...args, '--data-dir', join(home, 'sandbox')], {
    MEDIACTL_CONFIG_DIR: join(home, 'config'),
    MEDIACTL_STATE_DIR: join(home, 'state'),
    MEDIACTL_KEY_STORE: 'file',
    ...environment,
  }).finished;

const startSandbox = (environment: Record<string, string>) => runSandbox(['start', '--port', '0'], environment);

/** Creates a program with this name in its own folder. */
function writeProgram(name: string, ...lines: string[]) {
  const folder = temporaryFolder();
  const path = join(folder, name);
  writeFileSync(path, ['#!/bin/sh', ...lines, ''].join('\n'));
  chmodSync(path, 0o755);
  return { folder, path };
}

const printVersion = 'echo "ffmpeg version 99"';
const printPdftoppmVersion = 'echo "pdftoppm version 99" >&2';

it('sandbox status lists ffmpeg and pdftoppm from PATH', async () => {
  const { folder, path } = writeProgram('ffmpeg', printVersion);
  const pdftoppm = writeProgram('pdftoppm', printPdftoppmVersion);
  expect((await startSandbox({ PATH: `${folder}:${pdftoppm.folder}` })).code).toBe(0);
  const { stdout } = await runSandbox(['status', '--json']);
  const tools = { ffmpeg: path, pdftoppm: pdftoppm.path, unavailable_features: [] };
  expect(JSON.parse(stdout)).toMatchObject(tools);
});

it('MEDIACTL_FFMPEG=none disables ffmpeg and pdftoppm in the sandbox', async () => {
  const { folder } = writeProgram('ffmpeg', printVersion);
  expect((await startSandbox({ PATH: folder, MEDIACTL_FFMPEG: 'none' })).code).toBe(0);
  const status = JSON.parse((await runSandbox(['status', '--json'])).stdout);
  expect(status).toMatchObject({ ffmpeg: null, pdftoppm: null });
  expect(status.unavailable_features).toContain('PDF page thumbnails');
});

it('MEDIACTL_FFMPEG selects an ffmpeg by its path or by its name on PATH', async () => {
  const { folder, path } = writeProgram('ffmpeg-99', printVersion);
  expect((await startSandbox({ MEDIACTL_FFMPEG: path })).code).toBe(0);
  expect((await runSandbox(['status'])).stdout).toContain(path);
  await runSandbox(['stop']);
  expect((await startSandbox({ MEDIACTL_FFMPEG: 'ffmpeg-99', PATH: folder })).code).toBe(0);
  expect((await runSandbox(['status'])).stdout).toContain(path);
});

it('without ffmpeg, sandbox status and the sandbox log list the unavailable features', async () => {
  const { folder } = writeProgram('ffmpeg', 'exit 1'); // a program that fails to run does not count
  expect((await startSandbox({ PATH: folder })).code).toBe(0);
  const status = JSON.parse((await runSandbox(['status', '--json'])).stdout);
  expect(status.ffmpeg).toBeNull();
  expect(status.unavailable_features).toContain('thumbnails');
  const { stdout } = await runSandbox(['status']);
  expect(stdout).toMatch(/^ffmpeg\s+not found$/m);
  expect(stdout).toContain(status.unavailable_features.join(', '));
  const { stdout: log } = await runSandbox(['logs']);
  expect(log.match(/ffmpeg not found, so assets do not get thumbnails, /g)).toHaveLength(1);
});

it.each([
  ['does not exist', () => '/nowhere/ffmpeg', 'ENOENT'],
  ['is not on PATH', () => 'no-such-ffmpeg', 'it is not on PATH'],
  ['fails', () => writeProgram('ffmpeg', 'exit 1').path, 'Command failed'],
  ['is not ffmpeg', () => writeProgram('ffmpeg', 'echo hello').path, 'it is not ffmpeg'],
])('the sandbox does not start if the program in MEDIACTL_FFMPEG %s', async (_what, createProgram, reason) => {
  const { code, stderr } = await startSandbox({ MEDIACTL_FFMPEG: createProgram() });
  expect(code).toBe(2);
  expect(stderr).toMatch(/MEDIACTL_FFMPEG is \S+, which cannot be used: /);
  expect(stderr).toContain(reason);
});
