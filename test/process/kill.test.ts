import { type ChildProcess, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { errorOf } from '../support/errors.ts';
import { type Fault, FaultProxy, type ProxiedRequest, respondWith } from '../support/fault-proxy.ts';
import { pseudoRandomBytes, writeRandomFile } from '../support/files.ts';
import { isFullRun } from '../support/full-run.ts';
import { hangMs } from '../support/hang.ts';
import { rawHttp } from '../support/raw-http.ts';
import { startSandbox, type TestSandbox } from '../support/sandbox.ts';
import { mediactl, mediactlCommand, startProcess } from '../support/spawn.ts';
import { queryState, readStoredUploads } from '../support/state-database.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const MiB = 1024 * 1024;

let sandbox: TestSandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.end());

let home: string;
let state: string;
let path: string;
let proxy: FaultProxy;
let child: ChildProcess | undefined;
let fault: (seen: ProxiedRequest) => Fault | undefined;
beforeEach(async () => {
  home = temporaryFolder();
  state = join(home, 'state');
  path = join(home, `${home.split('-').at(-1)}.bin`);
  fault = () => undefined;
  proxy = await FaultProxy.start(sandbox.url, (seen) => fault(seen));
});

const environment = () => ({
  MEDIACTL_CONFIG_DIR: join(home, 'config'),
  MEDIACTL_STATE_DIR: state,
  MEDIACTL_API_KEY: sandbox.key,
  MEDIACTL_BASE_URL: proxy.url,
  MEDIACTL_WORKSPACE: sandbox.workspace,
});

const runUpload = async (...args: string[]) => {
  const started = mediactl(['upload', path, '--json', '--progress', 'none', ...args], environment());
  child = started.child;
  const finished = await started.finished;
  return { ...finished, record: finished.stdout ? JSON.parse(finished.stdout)[0] : undefined };
};

const killUpload = () => void child?.kill('SIGKILL');
/** Returns the state of each row of the database: of receipts, and of uploads that are unfinished or locked. */
const storedStates = () => queryState(state, 'SELECT state FROM uploads').map((row) => row.state);
const storedFile = (uid: string) => join(sandbox.dataDir, 'media', uid, 'source');

const killClient: Fault = { respond: killUpload };

describe('upload after kill -9', () => {
  const moments: [string, (seen: ProxiedRequest) => Fault | undefined][] = [
    ['before the POST arrives', ({ method }) => (method === 'POST' ? killClient : undefined)],
    ['after the POST', ({ method }) => (method === 'PATCH' ? killClient : undefined)],
    [
      'during a chunk',
      ({ method, nth }) => {
        if (method !== 'PATCH' || nth !== 2) return undefined;
        setTimeout(killUpload, 20);
        return { cutAfterBytes: 300_000 };
      },
    ],
    [
      'after the last chunk and before its response',
      ({ method, nth }) =>
        method === 'PATCH' && nth === 3 ? { beforeResponse: () => void killUpload(), dropResponse: true } : undefined,
    ],
  ];

  it.each(moments)('an upload that is killed %s becomes one asset when it is run again', async (moment, plan) => {
    const bytes = writeRandomFile(path, { size: 2.5 * MiB, seed: moment });
    fault = plan;
    const killedRun = await runUpload('--chunk-size', '1MiB');
    expect(killedRun.signal).toBe('SIGKILL');
    fault = () => undefined;
    const { code, record } = await runUpload('--chunk-size', '1MiB');
    expect(code).toBe(0);
    expect(readFileSync(storedFile(record.asset_uid)).equals(bytes)).toBe(true);
    expect(record.verified).toBe(moment.startsWith('after the last') ? null : true);
    const sessions = new Set(
      proxy.requests.filter(({ method }) => method === 'PATCH').map(({ path: session }) => session),
    );
    expect(sessions.size).toBe(1);
    expect(storedStates()).toEqual(['done']);
  });
});

/**
 * Waits until the service has stored everything that a killed process sent: an empty PATCH waits for the
 * previous one, and gets 409 if bytes arrived meanwhile.
 */
async function waitUntilSentBytesAreStored(): Promise<void> {
  const { path: session = '' } = proxy.requests.find(({ method }) => method === 'PATCH') ?? {};
  const { offsetOf, patch } = rawHttp(() => sandbox);
  for (let status = 0; status !== 204; ) ({ status } = await patch(session, await offsetOf(session), new Uint8Array()));
}

it('an upload that is killed twice keeps its session and resends at most one chunk per kill', async () => {
  const chunkBytes = (isFullRun ? 50 : 10) * MiB;
  const size = 5.2 * chunkBytes;
  writeFileSync(path, Buffer.alloc(size, pseudoRandomBytes(MiB, 'big')));
  const killPoints = new Map([
    [2, 0.4 * chunkBytes],
    [4, 0.7 * chunkBytes],
  ]);
  fault = ({ method, nth }) => {
    const killPoint = method === 'PATCH' ? killPoints.get(nth) : undefined;
    if (killPoint === undefined) return undefined;
    killPoints.delete(nth);
    const target = child; // bytes in flight must not kill the next process
    return { onBytes: (passed) => passed >= killPoint && target?.kill('SIGKILL') };
  };
  // Kills the process once this much of its chunk is sent.
  let patchCount = 0;
  for (const _run of [1, 2]) {
    expect((await runUpload('--chunk-size', `${chunkBytes}`)).signal).toBe('SIGKILL');
    await waitUntilSentBytesAreStored();
  }
  fault = ({ method }) => {
    if (method === 'PATCH') patchCount++;
    return undefined;
  };
  const { code, record } = await runUpload('--chunk-size', `${chunkBytes}`);
  expect(code).toBe(0);
  expect(record).toMatchObject({ verified: true, size_bytes: size });
  expect(record.bytes_sent + record.resumed_from_bytes).toBe(size);
  expect(patchCount).toBe(Math.ceil(record.bytes_sent / chunkBytes));
  expect(proxy.methods.filter((method) => method === 'POST')).toHaveLength(1);
  // 6 chunks, and one more per kill.
  expect(proxy.methods.filter((method) => method === 'PATCH').length).toBeLessThanOrEqual(8);
  const digest = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex');
  expect(digest(storedFile(record.asset_uid))).toBe(digest(path));
});

it('a second upload of the same file exits with 6 and names the pid of the first', async () => {
  const bytes = writeRandomFile(path, { size: 2 * MiB });
  let secondUpload: ReturnType<typeof runUpload> | undefined;
  let firstPid: number | undefined;
  fault = ({ method, nth }) => {
    if (method !== 'PATCH' || nth !== 1) return undefined;
    firstPid = child?.pid;
    secondUpload = runUpload();
    return { beforeResponse: async () => void (await secondUpload) };
  };
  const { code, record } = await runUpload();
  expect([code, record.verified]).toEqual([0, true]);
  expect(readFileSync(storedFile(record.asset_uid)).equals(bytes)).toBe(true);
  const secondResult = await (secondUpload as ReturnType<typeof runUpload>);
  expect(secondResult.code).toBe(6);
  expect(secondResult.record.error.message).toBe(`already uploading (pid ${firstPid})`);
});

describe('Ctrl-C', () => {
  it('Ctrl-C aborts the current chunk, keeps the state, says how to resume and exits with 130', {
    tags: 'undocumented-fields',
  }, async () => {
    writeRandomFile(path, { size: 3 * MiB });
    fault = ({ method, nth }) => {
      if (method === 'PATCH' && nth === 2) setTimeout(() => child?.kill('SIGINT'), 100);
      return method === 'PATCH' && nth === 2 ? { respond: () => {} } : undefined;
    };
    const firstRun = await runUpload('--chunk-size', '1MiB');
    expect(firstRun.code).toBe(130);
    const { error } = JSON.parse(firstRun.stderr);
    expect(error).toMatchObject({ code: 'interrupted', exit_code: 130 });
    expect(error.hint).toContain('mediactl uploads resume');
    fault = () => undefined;
    const secondRun = await runUpload('--chunk-size', '1MiB');
    expect(secondRun.record).toMatchObject({ verified: true, resumed_from_bytes: MiB });
  });

  it('a second Ctrl-C exits at once', async () => {
    writeRandomFile(path, { size: MiB });
    fault = ({ method }) => {
      if (method !== 'PATCH') return undefined;
      child?.kill('SIGINT');
      setTimeout(() => child?.kill('SIGINT'), 1);
      return { respond: () => {} };
    };
    const { code } = await runUpload();
    expect(code).toBe(130);
  });

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('%s ends a download to a pipe that nobody reads', { tags: 'Linux' }, async (signal, exitCode) => {
    writeFileSync(path, 'text');
    const { record } = await runUpload('--wait');
    const pipe = join(home, 'pipe');
    execFileSync('mkfifo', [pipe]);
    fault = ({ path: requested }) => {
      if (requested.includes('/playback/info/')) setTimeout(() => child?.kill(signal), 200);
      return undefined;
    };
    const started = mediactl(['download', record.asset_uid, '-o', pipe], environment());
    child = started.child;
    const hang = setTimeout(killUpload, hangMs / 4);
    const { code, signal: endedBy, stderr } = await started.finished;
    clearTimeout(hang);
    // Node.js cannot exit while it opens the pipe, so that the signal itself ends the process.
    expect([exitCode, signal]).toContain(code ?? endedBy);
    expect(stderr).toContain('error: ');
  });

  it('SIGTERM keeps the state, says how to resume and exits with 143', async () => {
    writeRandomFile(path, { size: 3 * MiB });
    fault = ({ method }) => {
      if (method !== 'PATCH') return undefined;
      setTimeout(() => child?.kill('SIGTERM'), 50);
      return { respond: () => {} };
    };
    expect(errorOf(await runUpload())).toEqual({
      code: 'terminated',
      exit: 143,
      hint: expect.stringMatching(/^run the same command again, or mediactl uploads resume /),
    });
    expect(readStoredUploads(state)).toMatchObject([{ state: 'open', offset: 0 }]);
    expect(queryState(state, 'SELECT process FROM uploads')).toEqual([{ process: null }]);
  });
});

describe('full disk with --force', { tags: 'user-namespaces' }, () => {
  /** Runs the upload with a state folder on a full disk. */
  const uploadOnFullDisk = async () => {
    mkdirSync(state);
    const fill = 'mount -t tmpfs -o size=4k full "$1" && head -c 4096 /dev/zero > "$1/filling"';
    const started = startProcess(
      'unshare',
      ['-rm', 'bash', '-c', `${fill} && shift && exec "$@"`, 'bash', state]
        .concat(mediactlCommand)
        .concat('upload', path, '--jsonl', '--force'),
      environment(),
    );
    child = started.child;
    return started.finished;
  };

  it('upload --force on a full disk warns once and uploads the file', { tags: 'undocumented-fields' }, async () => {
    const bytes = writeRandomFile(path, { size: MiB });
    const { code, stdout, stderr } = await uploadOnFullDisk();
    expect(code).toBe(0);
    expect(stderr.match(/^warning: .*/gm)).toEqual([
      expect.stringMatching(/^warning: not enough disk space to record .* another run may upload it again$/),
      expect.stringMatching(/@last.*: ENOSPC/),
    ]);
    expect(readFileSync(storedFile(JSON.parse(stdout).asset_uid)).equals(bytes)).toBe(true);
  });

  it('upload --force on a full disk does not suggest a resume when it is interrupted', async () => {
    writeRandomFile(path, { size: MiB });
    fault = ({ method }) => (method === 'PATCH' ? { respond: () => void child?.kill('SIGINT') } : undefined);
    const { code, stderr } = await uploadOnFullDisk();
    expect(code).toBe(130);
    expect(stderr).not.toContain('uploads resume');
  });
});

it('an upload that exceeds the file size limit suggests ulimit -f unlimited', async () => {
  writeRandomFile(path, { size: 1000 });
  const command = [...mediactlCommand, 'upload', path].map((word) => `'${word}'`).join(' ');
  const limited = startProcess('bash', ['-c', `ulimit -f 40; ${command}`], {
    MEDIACTL_STATE_DIR: join(home, 'limited'),
    MEDIACTL_API_KEY: sandbox.key,
    MEDIACTL_BASE_URL: sandbox.url,
    MEDIACTL_WORKSPACE: sandbox.workspace,
  });
  const { code, stderr } = await limited.finished;
  expect([code, stderr]).toEqual([14, expect.stringContaining('ulimit -f unlimited')]);
});

it('a file whose asset rm was deleting when it was killed is uploaded again, and one whose deletion was refused is not', async () => {
  writeRandomFile(path, { size: 1000 });
  const first = (await runUpload()).record;
  const remove = () => {
    const started = mediactl(['rm', first.asset_uid, '--yes'], environment());
    child = started.child;
    return started.finished;
  };
  fault = ({ method }) => (method === 'DELETE' ? respondWith(403, { error: {} }) : undefined);
  expect((await remove()).code).toBe(5);
  fault = () => undefined;
  expect((await runUpload()).record).toMatchObject({ outcome: 'skipped', asset_uid: first.asset_uid });
  fault = ({ method }) => (method === 'DELETE' ? { beforeResponse: killUpload } : undefined);
  expect((await remove()).signal).toBe('SIGKILL');
  fault = () => undefined;
  const again = (await runUpload()).record;
  expect(again).toMatchObject({ outcome: 'uploaded' });
  expect(again.asset_uid).not.toBe(first.asset_uid);
  expect((await runUpload()).record).toMatchObject({ outcome: 'skipped', asset_uid: again.asset_uid });
});
