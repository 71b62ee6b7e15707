import { existsSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CodedError } from '../../src/client/errors.ts';
import { StateDatabase } from '../../src/client/state/state-database.ts';
import { acceleratedClock } from '../support/clock.ts';
import type { FakeAsset } from '../support/fake-library.ts';
import { FakeService, respondWithError } from '../support/fake-service.ts';
import { type Fault, respondWith } from '../support/fault-proxy.ts';
import { writeRandomFile } from '../support/files.ts';
import { startSandbox } from '../support/sandbox.ts';
import { changeState, databaseFile, failWrites, queryState } from '../support/state-database.ts';
import { chunkBytes, setUpUploader } from '../support/upload-setup.ts';

const setup = setUpUploader();
const interruptedError = () => new CodedError('interrupted', { code: 'interrupted' });

describe('several files in one upload', () => {
  it('upload sends a corrected file again after the processing of the first version failed', async () => {
    setup.path = setup.path.replace(/bin$/, 'pdf');
    writeFileSync(setup.path, setup.bytes);
    const failedRun = await setup.upload(['--wait']);
    expect(failedRun.code).toBe(12);
    expect(failedRun.record).toMatchObject({ verified: true, bytes_sent: setup.bytes.length });
    expect(failedRun.record.session_uid).toMatch(/^[0-9a-f-]{36}$/);
    expect(setup.unfinishedIds()).toEqual([]);
    setup.bytes = Buffer.from('%PDF-1.7\n%mended\n');
    writeFileSync(setup.path, setup.bytes);
    const nextRun = await setup.upload(['--wait']);
    expect(nextRun.record).toMatchObject({ asset_status: 'ready', verified: true });
  });

  it('upload still prints the records of finished files if it is interrupted between two files', async () => {
    const abort = new AbortController();
    const secondFile = join(setup.cli.home, 'second.bin');
    writeRandomFile(secondFile, { size: 1000 });
    setup.fault = ({ method, nth }) =>
      method === 'POST' && nth === 2 ? { respond: () => abort.abort(interruptedError()) } : undefined;
    const interruptedRun = await setup.cli.run(['upload', setup.path, secondFile, '--json', '--transfers', '1'], {
      environment: setup.environment(),
      signal: abort.signal,
    });
    expect(interruptedRun.code).toBe(130);
    const records = JSON.parse(interruptedRun.stdout);
    // In order of completion: a file is reported after its receipt is on disk.
    expect(records.map(({ verified, error }: never) => [verified, error && (error as { code: string }).code])).toEqual(
      expect.arrayContaining([
        [true, null],
        [null, 'interrupted'],
      ]),
    );
    expect(records).toHaveLength(2);
  });

  it('upload --wait polls many assets by pages of the list instead of one by one', async () => {
    const files = [1, 2, 3, 4].map((n) => join(setup.cli.home, `${n}.md`));
    for (const file of files) writeFileSync(file, `# ${file}`);
    const ran = await setup.cli.run(['upload', ...files, '--wait', '--json'], { environment: setup.environment() });
    expect(JSON.parse(ran.stdout).map(({ asset_status }: never) => asset_status)).toEqual(Array(4).fill('ready'));
    const requestedPaths = setup.faultProxy.requests
      .filter(({ method }) => method === 'GET')
      .map(({ path: url }) => url);
    // Only the first asset, before the others are uploaded, and the last one left are polled individually.
    expect(requestedPaths).toContainEqual(expect.stringContaining('/assets/?limit=100'));
    const singleAssetPaths = requestedPaths.filter((url) => /\/assets\/[^/?]+\/$/.test(url));
    expect(new Set(singleAssetPaths).size).toBeLessThanOrEqual(2);
  });
});

describe('failures between the last byte and the result', () => {
  /** Makes the file a text, which is processed at once. */
  const writeTextFile = () => {
    setup.path = setup.path.replace(/bin$/, 'md');
    setup.bytes = Buffer.from(`# ${setup.path}`);
    writeFileSync(setup.path, setup.bytes);
  };
  const failAssetRequests = (fault: Fault): AbortSignal | undefined => {
    // Not the list of assets, with which the file is compared before it is uploaded.
    setup.fault = ({ method, path }) => (method === 'GET' && /\/assets\/[^?]/.test(path) ? fault : undefined);
    return undefined;
  };
  const abortAtAssetRequest = () => {
    const controller = new AbortController();
    failAssetRequests({ respond: () => controller.abort(interruptedError()) });
    return controller.signal;
  };
  const reportProcessing = () => failAssetRequests(respondWith(200, { uid: 'x', status: 'processing' }));

  it.each([
    ['a timeout', 8, () => reportProcessing()],
    ['a 503 during the wait', 10, () => failAssetRequests(respondWith(503, 'no'))],
    [
      'a dropped connection during the wait',
      10,
      () => failAssetRequests({ respond: (response) => response.destroy() }),
    ],
    ['a rejected API key during the wait', 4, () => failAssetRequests(respondWith(401, { error: {} }))],
    ['a web page as response during the wait', 10, () => failAssetRequests(respondWith(200, '<html>Log in</html>'))],
    ['Ctrl-C during the wait', 130, () => abortAtAssetRequest()],
  ])(
    'upload --wait sends nothing again after %s (exit %i) in the previous run',
    async (_what, exitCode, injectFault) => {
      writeTextFile();
      const signal = injectFault();
      const firstRun = await setup.upload(['--wait', '--timeout', '60s'], {
        clock: acceleratedClock({ speed: 2000 }),
        ...(signal && { signal }),
      });
      expect(firstRun.code).toBe(exitCode);
      expect(firstRun.record.asset_uid).not.toBeNull();
      setup.fault = () => undefined;
      const nextRun = await setup.upload(['--wait']);
      expect(nextRun.record).toMatchObject({ asset_status: 'ready', verified: true, bytes_sent: 0 });
      expect((await setup.findAssets()).map(({ uid }) => uid)).toEqual([nextRun.record.asset_uid]);
      expect(setup.unfinishedIds()).toEqual([]);
    },
  );

  it('the second run of upload prints the asset if the disk for stdout was full in the first run', async () => {
    writeTextFile();
    const program = ['upload', setup.path, '--json', '--progress', 'none'];
    const { code } = await setup.cli.run(program, { environment: setup.environment(), stdoutError: 'ENOSPC' });
    expect(code).toBe(1);
    const { record } = await setup.upload();
    expect(record).toMatchObject({ outcome: 'skipped', bytes_sent: 0, request_count: 0 });
    expect((await setup.findAssets()).map(({ uid }) => uid)).toEqual([record.asset_uid]);
  });

  it('if the service lost bytes and the file has no receipt, upload sends them again to the same asset', async () => {
    await (await StateDatabase.open(setup.stateDir)).close();
    const allowReceipts = failWrites(setup.stateDir, "NEW.state = 'done'");
    const service = await FakeService.start();
    const uploadFile = () =>
      setup.cli.run(['upload', setup.path, '--json'], {
        environment: { ...setup.environment(), MEDIACTL_BASE_URL: service.url },
      });
    expect((await uploadFile()).code).toBe(14);
    allowReceipts();
    expect(setup.storedEntry().state).toBe('open');
    const [asset] = [...service.assets.values()] as [FakeAsset];
    asset.bytes = asset.bytes.subarray(0, 1000);
    asset.completedAt = undefined;
    const { stdout } = await uploadFile();
    expect(JSON.parse(stdout)[0]).toMatchObject({ asset_uid: asset.uid, verified: true });
    expect(asset.bytes.equals(setup.bytes)).toBe(true);
    expect(service.assets.size).toBe(1);
  });

  it('if the session is gone and the asset still waits for its acknowledged bytes, upload sends the file to a new asset', async () => {
    await (await StateDatabase.open(setup.stateDir)).close();
    const allowReceipts = failWrites(setup.stateDir, "NEW.state = 'done'");
    const service = await FakeService.start();
    const environment = () => ({ ...setup.environment(), MEDIACTL_BASE_URL: service.url });
    const uploadFile = () => setup.cli.run(['upload', setup.path, '--json'], { environment: environment() });
    expect((await uploadFile()).code).toBe(14);
    allowReceipts();
    const [lost] = [...service.assets.values()] as [FakeAsset];
    lost.bytes = lost.bytes.subarray(0, 0);
    lost.completedAt = undefined;
    service.sessions.clear();
    const { stdout, stderr } = await uploadFile();
    const [record] = JSON.parse(stdout);
    expect(record).toMatchObject({ outcome: 'uploaded', verified: true, bytes_sent: setup.bytes.length });
    expect(record.asset_uid).not.toBe(lost.uid);
    expect(stderr).toContain(`asset ${lost.uid} stays incomplete`);
    expect(service.assets.get(record.asset_uid)?.bytes.equals(setup.bytes)).toBe(true);
  });

  it('if the service lost bytes of an upload without tags, upload sends them to the same asset before it sets the tags', async () => {
    const service = await FakeService.start();
    const environment = () => ({ ...setup.environment(), MEDIACTL_BASE_URL: service.url });
    const uploadFile = () =>
      setup.cli.run(['upload', setup.path, '--tag', 'sea', '--json'], { environment: environment() });
    service.fault = ({ method, path }) =>
      method === 'PATCH' && path.startsWith('/assets/') ? respondWithError(403) : undefined;
    expect((await uploadFile()).code).not.toBe(0);
    service.fault = () => undefined;
    expect(setup.storedEntry().state).toBe('whole');
    const [asset] = [...service.assets.values()] as [FakeAsset];
    asset.bytes = asset.bytes.subarray(0, 1000);
    asset.completedAt = undefined;
    const { stdout, stderr } = await uploadFile();
    expect(stderr).toContain(`asset ${asset.uid} still waits for bytes that the service acknowledged`);
    expect(JSON.parse(stdout)[0]).toMatchObject({ asset_uid: asset.uid, verified: true });
    expect(asset.bytes.equals(setup.bytes)).toBe(true);
    expect(service.assets.size).toBe(1);
  });

  it('upload exits with 0 and uploads every file if the reader of stdout closes the pipe', async () => {
    const others = [1, 2, 3].map((n) => join(setup.cli.home, `${n}.bin`));
    for (const other of others) writeRandomFile(other, { size: 1000, seed: other });
    const paths = [setup.path, ...others];
    const { code, stderr } = await setup.cli.run(['upload', ...paths, '-q', '--transfers', '1'], {
      environment: setup.environment(),
      stdoutError: 'EPIPE',
    });
    expect([code, stderr]).toEqual([0, '']);
    const assetsPerFile = await Promise.all(paths.map((path) => setup.findAssets(basename(path))));
    expect(assetsPerFile.map(({ length }) => length)).toEqual([1, 1, 1, 1]);
  });

  it('upload skips a file that was touched after its upload, and sends one that was edited', async () => {
    writeTextFile();
    reportProcessing();
    await setup.upload(['--wait', '--timeout', '1s']);
    setup.fault = () => undefined;
    utimesSync(setup.path, 1, 1);
    expect((await setup.upload()).record.bytes_sent).toBe(0);
    reportProcessing();
    await setup.upload(['--wait', '--timeout', '1s']);
    setup.fault = () => undefined;
    writeFileSync(setup.path, '# other words, of the same length?');
    expect((await setup.upload()).record.bytes_sent).toBeGreaterThan(0);
  });

  it('upload does not send a finished file again after its session has expired', async () => {
    let now = Date.now();
    const sandbox = await startSandbox({ now: () => now });
    const [finishedFile, newFile] = ['one.md', 'two.md'].map((name) => join(setup.cli.home, name)) as [string, string];
    writeFileSync(finishedFile, '# one');
    const uploadFiles = (...paths: string[]) =>
      setup.cli.run(['upload', ...paths, '--json'], {
        environment: {
          MEDIACTL_API_KEY: sandbox.key,
          MEDIACTL_BASE_URL: sandbox.url,
          MEDIACTL_WORKSPACE: sandbox.workspace,
        },
      });
    const firstRecords = JSON.parse((await uploadFiles(finishedFile)).stdout);
    now += 25 * 3600_000;
    writeFileSync(newFile, '# two');
    const nextRecords = JSON.parse((await uploadFiles(finishedFile, newFile)).stdout);
    expect(nextRecords[0]).toMatchObject({ asset_uid: firstRecords[0].asset_uid, bytes_sent: 0, error: null });
    expect(nextRecords[1].error).toBeNull();
    await sandbox.end();
  });

  it('uploads ls and resume omit the finished files of a run in which another file failed', async () => {
    writeTextFile();
    const other = join(setup.cli.home, 'other.md');
    writeFileSync(other, '# other');
    const args = ['upload', setup.path, other, '--json', '--transfers', '1'];
    const environment = setup.environment();
    setup.fault = ({ method, nth }) => (method === 'POST' && nth === 2 ? respondWith(413, 'too large') : undefined);
    expect((await setup.cli.run(args, { environment })).code).toBe(11);
    setup.fault = () => undefined;
    expect(await setup.cli.json(['uploads', 'ls'], { environment })).toEqual([]);
    expect(await setup.cli.json(['uploads', 'resume', '--all'], { environment })).toEqual([]);
    const records = await setup.cli.json(
      args.filter((arg) => arg !== '--json'),
      { environment },
    );
    expect(records.map(({ bytes_sent }: never) => bytes_sent > 0)).toEqual([false, true]);
    expect(setup.unfinishedIds()).toEqual([]);
  });
});

describe('stored state of an upload', () => {
  it('upload exits with 14 before any upload request if the stored upload is damaged', async () => {
    const id = await setup.interruptAfterTwoChunks();
    changeState(setup.stateDir, 'UPDATE uploads SET entry = ? WHERE id = ?', '{torn', id);
    const { code, stderr } = await setup.upload();
    expect([code, stderr]).toEqual([14, expect.stringContaining('the upload history is damaged')]);
    expect(setup.faultProxy.uploadRequests).toEqual([]);
  });

  it('upload sends nothing without a state directory; with --force it warns once and uploads', async () => {
    writeFileSync(setup.stateDir, 'a file where the folder should be');
    const refused = await setup.upload();
    expect([refused.code, setup.faultProxy.requests.length]).toEqual([14, 0]);
    const { code, record, stderr } = await setup.upload(['--force']);
    expect(code).toBe(0);
    expect(stderr.match(/another run may upload it again/g)).toHaveLength(1);
    expect(setup.storedBytes(record.asset_uid).equals(setup.bytes)).toBe(true);
    expect(readFileSync(setup.stateDir, 'utf8')).toContain('a file where');
  });

  it('the state directory has mode 0700, and its files have mode 0600 and do not contain the API key', async () => {
    await setup.interruptAfterTwoChunks();
    const paths = readdirSync(setup.stateDir, { recursive: true }).map((name) => join(setup.stateDir, String(name)));
    expect(paths).toContain(databaseFile(setup.stateDir));
    for (const path of [setup.stateDir, ...paths]) {
      const stats = statSync(path);
      expect([path, stats.mode & 0o777]).toEqual([path, stats.isDirectory() ? 0o700 : 0o600]);
      if (stats.isFile()) expect(readFileSync(path, 'latin1')).not.toContain(setup.sandbox.key);
    }
  });

  it('upload takes over the locks of killed runs and deletes their temporary files', async () => {
    const id = await setup.interruptAfterTwoChunks();
    const killedProcess = 'a-process-that-was-killed';
    const partialCopy = join(setup.cli.home, 'part');
    writeFileSync(partialCopy, 'half a copy of stdin');
    changeState(setup.stateDir, 'UPDATE uploads SET process = ?, pid = 1 WHERE id = ?', killedProcess, id);
    const insertLock = "INSERT INTO uploads (id, state, path, process, pid) VALUES ('copying', 'planned', ?, ?, 1)";
    changeState(setup.stateDir, insertLock, partialCopy, killedProcess);
    const runs = join(setup.stateDir, 'runs');
    writeFileSync(join(runs, `${killedProcess}.lock`), '');
    const { record } = await setup.upload();
    expect(record.resumed_from_bytes).toBe(2 * chunkBytes);
    await setup.expectUploaded(record);
    expect([readdirSync(runs), existsSync(partialCopy)]).toEqual([[], false]);
    expect(queryState(setup.stateDir, 'SELECT state, process FROM uploads')).toEqual([
      { state: 'done', process: null },
    ]);
  });
});

it('two simultaneous uploads of one file create one asset, and the second exits with 6', async () => {
  let secondUpload: Awaited<ReturnType<typeof setup.upload>> | undefined;
  setup.fault = ({ method, nth }) =>
    method === 'PATCH' && nth === 2
      ? {
          beforeResponse: async () => {
            secondUpload = await setup.upload([], { inProcess: 'compares the process id' });
          },
        }
      : undefined;
  const { code, record } = await setup.upload([], { inProcess: 'compares the process id' });
  expect(code).toBe(0);
  await setup.expectUploaded(record);
  expect(secondUpload?.code).toBe(6);
  expect(secondUpload?.record.error.message).toBe(`already uploading (pid ${process.pid})`);
  expect(secondUpload?.record.error.hint).not.toContain('resume');
  expect(setup.faultProxy.methods.filter((method) => method === 'POST')).toHaveLength(1);
});

it('uploads forget exits with 6 while the upload is in progress', async () => {
  let forgetRun: { code: number } | undefined;
  setup.fault = ({ method, nth }) =>
    method === 'PATCH' && nth === 2
      ? {
          beforeResponse: async () => {
            const { id } = setup.storedEntry();
            forgetRun = await setup.cli.run(['uploads', 'forget', id, '--yes']);
          },
        }
      : undefined;
  await setup.expectUploaded((await setup.upload()).record);
  expect(forgetRun?.code).toBe(6);
});
