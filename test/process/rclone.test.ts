import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { errorRecord } from '../../src/cli/error-hints.ts';
import { CodedError } from '../../src/client/errors.ts';
import { Transport } from '../../src/client/http/transport.ts';
import { openRclone, type RcloneFiles } from '../../src/client/upload/sources/rclone.ts';
import type { UploadSource } from '../../src/client/upload/sources/source.ts';
import { systemClock } from '../../src/shared/clock.ts';
import { bundle } from '../support/bundle.ts';
import { inherited } from '../support/environment.ts';
import { recordedError } from '../support/errors.ts';
import { pseudoRandomBytes } from '../support/files.ts';
import { isRunning } from '../support/leftovers.ts';
import { programPaths } from '../support/requirements.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const { rclone } = programPaths;
const apiKey = 'mk_live_that_no_child_may_see_0123456789';

/** A remote that is a local folder, and a wrapper of rclone that records its arguments. */
let remoteFolder: string;
let home: string;
let environment: Record<string, string>;
beforeEach(() => {
  [remoteFolder, home] = [temporaryFolder(), temporaryFolder()];
  mkdirSync(join(home, 'bin'));
  environment = {
    ...inherited,
    PATH: `${join(home, 'bin')}:${process.env.PATH}`,
    MEDIACTL_API_KEY: apiKey,
    RCLONE_CONFIG: join(home, 'rclone.conf'),
    RCLONE_CONFIG_FAR_TYPE: 'alias',
    RCLONE_CONFIG_FAR_REMOTE: remoteFolder,
    // Variables that users may have set for other purposes.
    RCLONE_LOG_FILE: join(home, 'rclone.log'),
    RCLONE_VERBOSE: '2',
    RCLONE_BASEURL: 'busy',
    RCLONE_NO_MODTIME: 'true',
  };
  writeRcloneScript(`exec ${rclone} "$@"`);
});

function writeRcloneScript(script: string): void {
  const path = join(home, 'bin/rclone');
  const recordCall = `{ echo "$$ $*"; env; } > '${home}/called.'"$1"`;
  writeFileSync(path, `#!/bin/sh\n${recordCall}\n${script}\n`);
  chmodSync(path, 0o755);
}

/** Returns the arguments, environment and pid of rclone's last run of a command. */
function lastCall(command: string) {
  const [line = '', ...env] = readFileSync(join(home, `called.${command}`), 'utf8').split('\n');
  return { pid: Number(line.split(' ')[0]), args: line, env: env.join('\n') };
}

function writeRemoteFile(name: string, bytes: Buffer): Buffer {
  mkdirSync(join(remoteFolder, name, '..'), { recursive: true });
  writeFileSync(join(remoteFolder, name), bytes);
  return bytes;
}

async function openRemote(address: string, signal?: AbortSignal): Promise<RcloneFiles> {
  const transport = new Transport({
    baseUrl: new URL('http://127.0.0.1:9'),
    clock: systemClock,
    userAgent: 'test',
    requestTimeoutMs: 10_000,
    maxWaitMs: 60_000,
  });
  const remote = await openRclone(address, { transport, environment, signal });
  onTestFinished(async () => {
    await remote.close();
    await transport.close();
  });
  return remote;
}

const failureOf = (attempt: Promise<unknown>) =>
  attempt.then(
    () => expect.unreachable('it went well'),
    (error) => errorRecord(error as CodedError),
  );

async function readAll(source: UploadSource): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const bytes of source.read(0, source.sizeBytes)) parts.push(bytes);
  return Buffer.concat(parts);
}

const openFirstSource = ({ files, sourceOf }: RcloneFiles) => sourceOf(files[0] as RcloneFiles['files'][0]);

async function waitUntil(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let n = 0; n < 200 && !(await condition()); n++) await systemClock.sleep(50);
  expect(await condition()).toBe(true);
}

describe('files on a remote', { tags: 'rclone' }, () => {
  it('mediactl lists and reads files at every depth of an rclone remote', async () => {
    const names = ['a.mp4', 'day 1/ü #?%20 ]&+.mov', 'day 1/cam a/empty.bin'];
    const contents = new Map(
      names.map((name) => [
        name,
        writeRemoteFile(name, pseudoRandomBytes(name.includes('empty') ? 0 : 3_000_000, name)),
      ]),
    );
    const remote = await openRemote('rclone:far:');
    expect(remote.files.map(({ path }) => path).sort()).toEqual(names.sort());
    for (const file of remote.files) {
      const source = await remote.sourceOf(file);
      const address = `rclone:far:${file.path}`;
      expect([source.path, source.realPath]).toEqual([address, address]);
      expect(file.sizeBytes).toBe(source.sizeBytes);
      expect((await readAll(source)).equals(contents.get(file.path) as Buffer)).toBe(true);
      await source.close();
    }
  });

  it.each(['rclone:far:day 1', 'rclone:far:day 1/'])('mediactl lists and reads the files below %s', async (address) => {
    writeRemoteFile('day 1/cam a/clip.mp4', pseudoRandomBytes(10));
    const remote = await openRemote(address);
    expect(remote.files).toMatchObject([{ path: 'cam a/clip.mp4', sizeBytes: 10 }]);
    const source = await openFirstSource(remote);
    expect(source.path).toBe('rclone:far:day 1/cam a/clip.mp4');
    expect((await readAll(source)).equals(pseudoRandomBytes(10))).toBe(true);
  });

  it('mediactl reads a single file of an rclone remote', async () => {
    writeRemoteFile('day 1/clip.mp4/clip.mp4', pseudoRandomBytes(10));
    const remote = await openRemote('rclone:far:day 1/clip.mp4/clip.mp4');
    expect(remote.files).toMatchObject([{ path: 'clip.mp4', sizeBytes: 10 }]);
    const source = await openFirstSource(remote);
    expect(source.path).toBe('rclone:far:day 1/clip.mp4/clip.mp4');
    expect((await readAll(source)).equals(pseudoRandomBytes(10))).toBe(true);
  });

  it('mediactl reads a web page of an rclone remote whose name does not say that it is one', async () => {
    const page = writeRemoteFile('page', Buffer.from('<!doctype html><title>Rushes</title>'));
    const source = await openFirstSource(await openRemote('rclone:far:page'));
    expect(source).toMatchObject({ contentType: 'text/html' }); // rclone guesses it from the bytes
    expect((await readAll(source)).equals(page)).toBe(true);
  });

  it('a remote file keeps its identity until it is modified', async () => {
    const identity = async () => (await openFirstSource(await openRemote('rclone:far:clip.mp4'))).identity;
    writeRemoteFile('clip.mp4', pseudoRandomBytes(10));
    utimesSync(join(remoteFolder, 'clip.mp4'), 1000, 1000.25);
    const firstIdentity = await identity();
    expect(firstIdentity).toMatchObject({ sizeBytes: 10, mtimeNs: '1000000000000' });
    expect(await identity()).toEqual(firstIdentity);
    utimesSync(join(remoteFolder, 'clip.mp4'), 1000, 1000.5);
    expect(await identity()).not.toEqual(firstIdentity);
  });

  it('mediactl reads the current version of a remote file that was modified after the listing', async () => {
    writeRemoteFile('clip.mp4', pseudoRandomBytes(10));
    const remote = await openRemote('rclone:far:clip.mp4');
    writeRemoteFile('clip.mp4', pseudoRandomBytes(20));
    expect((await readAll(await openFirstSource(remote))).equals(pseudoRandomBytes(20))).toBe(true);
  });

  it.each<[string, string, () => void]>([
    ['modified', 'file_changed', () => writeRemoteFile('clip.mp4', pseudoRandomBytes(10, 'other'))],
    ['deleted', 'file_unusable', () => rmSync(join(remoteFolder, 'clip.mp4'))],
  ])('mediactl detects that a remote file was %s, despite the cache of rclone', async (_what, code, changeFile) => {
    writeRemoteFile('clip.mp4', pseudoRandomBytes(10));
    const source = await openFirstSource(await openRemote('rclone:far:clip.mp4'));
    changeFile();
    expect(await failureOf(readAll(source))).toMatchObject({ code });
    expect(await failureOf(source.assertUnchanged())).toMatchObject({ code });
  });
});

describe('rclone errors', { tags: 'rclone' }, () => {
  it.each([
    ['rclone:far:nowhere', { code: 'file_unusable', cause: /directory not found/ }],
    ['rclone:near:clip.mp4', { code: 'usage', cause: /didn't find section/ }],
    ['rclone:clip.mp4', { code: 'usage', hint: /rclone:REMOTE:PATH/ }],
    ['rclone:--config=/etc/passwd:', { code: 'usage', hint: /rclone:REMOTE:PATH/ }],
    ['rclone:far,pass=secret:clip.mp4', { code: 'usage', hint: /rclone:REMOTE:PATH/ }],
  ])('the address %s fails with a specific error code', async (address, expected) => {
    writeRemoteFile('day 1/clip.mp4', pseudoRandomBytes(10));
    const error = await failureOf(openRemote(address));
    expect(error).toMatchObject({ exit_code: 2, ...expected });
    expect(JSON.stringify(error)).not.toContain('secret');
  });

  it('an rclone failure shows the last error line of rclone with control characters escaped', async () => {
    writeRcloneScript(
      `printf '2026/01/01 10:00:00 NOTICE: a\\n2026/01/01 10:00:01 ERROR : no\\033[31m\\n' >&2; exit 1`,
    );
    expect(await failureOf(openRemote('rclone:far:'))).toMatchObject({
      code: 'source_failed',
      exit_code: 10,
      cause: 'no\\u001b[31m',
    });
  });

  it.each(['[]', 'what is no JSON', '{"Path":7}'])('invalid rclone output (%s) suggests an update', async (text) => {
    writeRcloneScript(`echo '${text}'`);
    expect(recordedError(await failureOf(openRemote('rclone:far:')))).toEqual({
      code: 'source_failed',
      exit: 10,
      hint: 'check the version of rclone: 1.60 or later is required',
    });
  });

  it('mediactl stops rclone at the first invalid line of a listing', async () => {
    const rootEntry = '{"Path":"","Size":-1,"ModTime":"","IsDir":true}';
    writeRcloneScript(`case "$*" in *--stat*) echo '${rootEntry}' ;; *) echo '{"Path":7}'; exec yes ;; esac`);
    expect(await failureOf(openRemote('rclone:far:'))).toMatchObject({ code: 'source_failed' });
    expect(isRunning(lastCall('lsjson').pid)).toBe(false);
  });

  it('a remote file of unknown size is refused and suggests rclone cat', async () => {
    writeRcloneScript(`echo '{"Path":"a","Size":-1,"ModTime":"2026-01-01T00:00:00Z","IsDir":false}'`);
    expect(await failureOf(openFirstSource(await openRemote('rclone:far:a')))).toMatchObject({
      code: 'usage',
      hint: `rclone cat far:a | mediactl upload - --name NAME`,
    });
  });
});

it('an rclone address on a machine without rclone fails and suggests installing it', async () => {
  environment.PATH = home;
  expect(await failureOf(openRemote('rclone:far:'))).toMatchObject({
    code: 'usage',
    exit_code: 2,
    hint: 'install it: https://rclone.org/install',
  });
});

it('mediactl reads an rclone listing of 100,000 files', async () => {
  const entry = '"Size":1,"ModTime":"2026-01-01T00:00:00Z"';
  writeRcloneScript(`case "$*" in
    *--stat*) echo '{"Path":"",${entry},"IsDir":true}' ;;
    *) echo '['; seq 100000 | sed 's/.*/{"Path":"&",${entry},"IsDir":false},/'; echo ']' ;;
  esac`);
  const { files } = await openRemote('rclone:far:');
  expect(files.length).toBe(100_000);
  expect(files.at(-1)).toEqual({ path: '100000', sizeBytes: 1, modTime: '2026-01-01T00:00:00Z' });
});

describe('rclone server', { tags: 'rclone' }, () => {
  it('one rclone server serves a remote on loopback, with a password and without the API key', async () => {
    writeRemoteFile('a', pseudoRandomBytes(10));
    writeRemoteFile('b', pseudoRandomBytes(10));
    const remote = await openRemote('rclone:far:');
    expect(existsSync(join(home, 'called.serve'))).toBe(false); // started only when needed
    await Promise.all(remote.files.map((file) => remote.sourceOf(file)));
    const { args, env, pid } = lastCall('serve');
    for (const call of [lastCall('serve'), lastCall('lsjson')]) expect(call.env).not.toContain(apiKey);
    const [, password = ''] = /^RCLONE_PASS=(\w{48})$/m.exec(env) ?? [];
    expect(password).not.toBe('');
    expect(args).toContain('--addr 127.0.0.1:0');
    expect(args).not.toContain(password);
    await remote.sourceOf(remote.files[0] as RcloneFiles['files'][0]);
    expect(lastCall('serve').pid).toBe(pid);
    await remote.close();
    expect(isRunning(pid)).toBe(false);
  });

  it('a read fails with source_failed if the rclone server exits', async () => {
    writeRemoteFile('a', pseudoRandomBytes(10_000_000));
    const source = await openFirstSource(await openRemote('rclone:far:a'));
    process.kill(lastCall('serve').pid, 'SIGKILL');
    expect(recordedError(await failureOf(readAll(source)))).toEqual({
      code: 'source_failed',
      exit: 10,
      hint: 'test the remote with rclone: rclone lsf REMOTE:',
    });
  });

  it('the rclone server exits when the upload is aborted', async () => {
    writeRemoteFile('a', pseudoRandomBytes(10));
    const abort = new AbortController();
    await openFirstSource(await openRemote('rclone:far:a', abort.signal));
    abort.abort(new CodedError('enough', { code: 'interrupted' }));
    await waitUntil(() => !isRunning(lastCall('serve').pid));
  });

  it('the rclone server exits when mediactl is killed', async () => {
    const outfile = join(home, 'rclone-child.mjs');
    await bundle(`export { serveRemote } from './src/client/upload/sources/rclone-process.ts'`, outfile);
    const script = `const { serveRemote } = await import('${outfile}');
      const { url } = await serveRemote('far:', { environment: process.env });
      console.log(url.href);
      setInterval(() => {}, 1000);`;
    const mediactlProcess = spawn(process.execPath, ['--input-type=module', '-e', script], {
      env: environment,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const url = await new Promise<string>((resolve) =>
      mediactlProcess.stdout.once('data', (text) => resolve(`${text}`.trim())),
    );
    expect((await fetch(url)).status).toBe(401);
    mediactlProcess.kill('SIGKILL');
    await waitUntil(() => !isRunning(lastCall('serve').pid));
  });
});

it('mediactl kills an rclone server that ignores SIGTERM', async () => {
  const entry = '{"Path":"a","Size":1,"ModTime":"2026-01-01T00:00:00Z","IsDir":false}';
  writeRcloneScript(`case "$1" in
    lsjson) echo '${entry}' ;;
    serve) trap '' TERM; echo 'Server started on [http://127.0.0.1:9/]' >&2; while :; do sleep 1; done ;;
  esac`);
  const remote = await openRemote('rclone:far:a');
  await failureOf(openFirstSource(remote));
  const { pid } = lastCall('serve');
  expect(isRunning(pid)).toBe(true);
  await remote.close();
  expect(isRunning(pid)).toBe(false);
});

it('mediactl also stops an rclone server that a wrapper script starts', { tags: 'rclone' }, async () => {
  writeRemoteFile('a', pseudoRandomBytes(10));
  writeRcloneScript(`${rclone} "$@" & echo $! > '${home}/inner'; wait $!`);
  const remote = await openRemote('rclone:far:a');
  await openFirstSource(remote);
  const rclonePid = Number(readFileSync(join(home, 'inner'), 'utf8'));
  expect(isRunning(rclonePid)).toBe(true);
  await remote.close();
  await waitUntil(() => !isRunning(rclonePid));
});

it('an abort stops an rclone listing that hangs', async () => {
  writeRcloneScript('exec sleep 1000');
  const abort = new AbortController();
  const opening = failureOf(openRemote('rclone:far:', abort.signal));
  await waitUntil(() => existsSync(join(home, 'called.lsjson')));
  abort.abort(new CodedError('enough', { code: 'interrupted' }));
  expect(await opening).toMatchObject({ code: 'interrupted' });
  await waitUntil(() => !isRunning(lastCall('lsjson').pid));
});
