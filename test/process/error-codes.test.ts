import { join } from 'node:path';
import { expect, it } from 'vitest';
import { errorInTable, errorOf } from '../support/errors.ts';
import { testKey, workspaceUid } from '../support/fake-library.ts';
import { executable, mediactlCommand, startProcess } from '../support/spawn.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/* Provokes errors that need a process whose system refuses something. */

/** Runs a command with --json below another program, and returns its error. */
async function errorOfCommandUnder(program: readonly string[], ...args: string[]) {
  const home = temporaryFolder();
  const [command = '', ...options] = program;
  const finished = await startProcess(command, [...options, ...mediactlCommand, ...args, '--json'], {
    MEDIACTL_API_KEY: testKey,
    MEDIACTL_BASE_URL: 'http://192.0.2.1',
    MEDIACTL_WORKSPACE: workspaceUid,
    MEDIACTL_MAX_WAIT: '0s',
    MEDIACTL_STATE_DIR: join(home, 'state'),
    MEDIACTL_CONFIG_DIR: join(home, 'config'),
  }).finished;
  return errorOf(finished);
}

it('a command fails with unreachable on a machine without a network', { tags: 'user-namespaces' }, async () => {
  const error = await errorOfCommandUnder(['unshare', '-rn'], 'assets', 'ls'); // in a namespace without a network
  // The executable's runtime has one code for all connections that fail.
  if (executable) return expect(error).toMatchObject({ code: 'unreachable', exit: 10 });
  expect(error).toEqual(errorInTable('unreachable'));
});

it('browse fails with port_unavailable if the system is out of buffers', { tags: 'strace' }, async () => {
  const refuseListen = [
    'strace',
    '-f',
    '-qq',
    '-o',
    '/dev/null',
    '-e',
    'trace=listen',
    '-e',
    'inject=listen:error=ENOBUFS',
  ];
  expect(await errorOfCommandUnder(refuseListen, 'browse', '--no-open')).toEqual(errorInTable('port_unavailable'));
});
