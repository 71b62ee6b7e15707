import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { errorInTable, recordedError } from '../support/errors.ts';
import { startProcess } from '../support/spawn.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

it('an upload without libsql uses the SQLite of Node.js or reports an incomplete install', async () => {
  const home = temporaryFolder();
  for (const each of ['bin', 'dist', 'package.json']) cpSync(join(root, each), join(home, each), { recursive: true });
  mkdirSync(join(home, 'node_modules'));
  symlinkSync(join(root, 'node_modules/@napi-rs'), join(home, 'node_modules/@napi-rs'));
  const runMediactl = (...args: string[]) =>
    startProcess(process.execPath, [join(home, 'bin/mediactl.js'), ...args], {
      MEDIACTL_API_KEY: 'a-key',
      MEDIACTL_BASE_URL: 'http://127.0.0.1:9',
      MEDIACTL_WORKSPACE: '00000000-0000-4000-8000-00000000000a',
      MEDIACTL_STATE_DIR: join(home, 'state'),
      MEDIACTL_CONFIG_DIR: join(home, 'config'),
    }).finished;
  const { stderr } = await runMediactl('upload', join(home, 'package.json'), '--json');
  const { error } = JSON.parse(stderr.split('\n').at(-2) ?? '');
  // Node.js 22.13 and later have SQLite themselves, so that the upload gets as far as the service, which is not there.
  if (isBuiltin('node:sqlite')) expect(error.code).toBe('unreachable');
  else {
    expect(recordedError(error)).toEqual(errorInTable('incomplete_install'));
    expect(error.message).toBe('the installation is incomplete: cannot load libsql');
    expect(error.cause).toBe("Cannot find module 'libsql'");
  }
  expect((await runMediactl('uploads', 'ls')).code).toBe(0);
});
