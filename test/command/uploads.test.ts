import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CodedError } from '../../src/client/errors.ts';
import { Cli } from '../support/cli.ts';
import { acceleratedClock } from '../support/clock.ts';
import { type Fault, FaultProxy, type ProxiedRequest, respondWith } from '../support/fault-proxy.ts';
import { writeRandomFile } from '../support/files.ts';
import { waitUntil } from '../support/machines.ts';
import { startSandbox, type TestSandbox } from '../support/sandbox.ts';

let sandbox: TestSandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.end());

let cli: Cli;
let path: string;
let fault: (request: ProxiedRequest) => Fault | undefined;
beforeEach(async () => {
  fault = () => undefined;
  const proxy = await FaultProxy.start(sandbox.url, (request) => fault(request));
  cli = new Cli({ MEDIACTL_API_KEY: sandbox.key, MEDIACTL_BASE_URL: proxy.url, MEDIACTL_WORKSPACE: sandbox.workspace });
  path = join(cli.home, `rushes-${basename(cli.home)}.bin`); // no other test's asset has its name
  writeRandomFile(path, { size: 3000 });
});

/** Interrupts an upload at byte 1000. */
async function interruptUploadAtByte1000(args: string[] = [path], stdin?: Buffer) {
  let patches = 0;
  fault = ({ method }) => (method === 'PATCH' && ++patches === 2 ? respondWith(402, { error: {} }) : undefined);
  const ran = await cli.run(['upload', ...args, '--chunk-size', '1000'], { stdin });
  expect(ran.code).toBe(7);
  fault = () => undefined;
}

describe('unfinished uploads', () => {
  it('uploads ls lists unfinished uploads, and uploads resume accepts the id of the upload, its session or its asset', async () => {
    for (const name of ['id', 'session_uid', 'asset_uid']) {
      writeRandomFile(path, { size: 3000, seed: name });
      await interruptUploadAtByte1000();
      const [pending] = await cli.json(['uploads', 'ls']);
      expect(pending).toMatchObject({
        path,
        size_bytes: 3000,
        offset_bytes: 1000,
        profile: 'environment',
        state: 'resumable',
      });
      const [record] = await cli.json(['uploads', 'resume', pending[name]]);
      expect(record).toMatchObject({ verified: true, resumed_from_bytes: 1000, bytes_sent: 2000 });
      expect(await cli.json(['uploads', 'ls'])).toEqual([]);
    }
  });

  it('uploads ls shows the profile of each upload, since those of other services are in the list too', async () => {
    await interruptUploadAtByte1000();
    expect((await cli.run(['uploads', 'ls'])).stdout).toMatch(/\tresumable\t[^\t]+\tenvironment\n$/);
  });

  it('uploads resume --all resumes only uploads of the current service, says how to resume others, and accepts another API key of that service', async () => {
    await interruptUploadAtByte1000();
    const otherService = { MEDIACTL_BASE_URL: 'http://127.0.0.1:9' };
    expect(await cli.json(['uploads', 'resume', '--all'], { environment: otherService })).toEqual([]);
    expect((await cli.run(['uploads', 'resume', '--all'], { environment: otherService })).stderr).toContain(
      'another account has unfinished uploads: set MEDIACTL_BASE_URL=',
    );
    const [{ id }] = await cli.json(['uploads', 'ls']);
    const refused = await cli.run(['uploads', 'resume', id], { environment: otherService });
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('belongs to another service');
    const otherKey = { MEDIACTL_API_KEY: sandbox.createKey('other') };
    const [record] = await cli.json(['uploads', 'resume', '--all'], { environment: otherKey });
    expect(record).toMatchObject({ resumed_from_bytes: 1000, verified: true });
  });

  it('uploads forget exits with 2 without --yes if the upload can be resumed', async () => {
    await interruptUploadAtByte1000();
    const [{ id }] = await cli.json(['uploads', 'ls']);
    expect((await cli.run(['uploads', 'forget', id])).code).toBe(2);
    expect(await cli.json(['uploads', 'forget', id, '--yes'])).toHaveLength(1);
    expect(await cli.json(['uploads', 'ls'])).toEqual([]);
    expect((await cli.run(['uploads', 'forget', id])).code).toBe(3);
    expect((await cli.run(['uploads', 'forget', '--expired'])).code).toBe(0);
    expect((await cli.run(['uploads', 'resume'])).code).toBe(2);
  });

  it('uploads forget asks before it forgets an upload whose creation is not confirmed', async () => {
    fault = ({ method }) => (method === 'POST' ? { dropResponse: true } : undefined);
    await cli.run(['upload', path, '--max-wait', '0']);
    const [{ id, state }] = await cli.json(['uploads', 'ls']);
    expect([state, (await cli.run(['uploads', 'forget', id])).code]).toEqual(['unconfirmed', 2]);
    expect(await cli.json(['uploads', 'ls'])).toMatchObject([{ id }]);
  });

  it('uploads forget --all -q prints the id of each forgotten upload', async () => {
    await interruptUploadAtByte1000();
    const [{ id }] = await cli.json(['uploads', 'ls']);
    const { stdout, code } = await cli.run(['uploads', 'forget', '--all', '--yes', '-q']);
    expect([code, stdout]).toEqual([0, `${id}\n`]);
    expect(await cli.json(['uploads', 'ls'])).toEqual([]);
    expect((await cli.run(['uploads', 'forget', '--all', '--expired'])).code).toBe(2);
  });

  it('upload keeps the temporary copy of stdin until uploads resume completes the upload or uploads forget deletes it', async () => {
    const spool = join(cli.home, 'state/spool');
    const bytes = Buffer.alloc(3000, 'piped');
    await interruptUploadAtByte1000(['-', '--name', 'Piped'], bytes);
    expect(readdirSync(spool)).toHaveLength(1);
    const [record] = await cli.json(['uploads', 'resume', '--all']);
    expect(record).toMatchObject({ verified: true, resumed_from_bytes: 1000, asset_name: 'Piped' });
    expect(readdirSync(spool)).toEqual([]);
    await interruptUploadAtByte1000(['-', '--name', 'Piped', '--existing', 'upload'], bytes);
    const [{ id }] = await cli.json(['uploads', 'ls']);
    await cli.run(['uploads', 'forget', id, '--yes']);
    expect(readdirSync(spool)).toEqual([]);
  });
});

it('uploads ls shows the process ID and sent bytes of a running upload, and the sent bytes of an interrupted one', async () => {
  writeRandomFile(path, { size: 600_000 });
  const abort = new AbortController();
  const uploadRun = cli.run(['upload', path, '--limit-rate', '200KB'], { signal: abort.signal });
  const unfinishedUpload = async () => (await cli.json(['uploads', 'ls']))[0] ?? {};
  await waitUntil(async () => (await unfinishedUpload()).bytes_sent > 0);
  const whileRunning = await unfinishedUpload();
  expect(whileRunning).toMatchObject({ state: 'uploading', pid: process.pid, offset_bytes: 0, size_bytes: 600_000 });
  expect((await cli.run(['uploads', 'ls'])).stdout).toContain(`uploading (pid ${process.pid})`);
  abort.abort(new CodedError('interrupted', { code: 'interrupted' }));
  expect((await uploadRun).code).toBe(130);
  const afterInterruption = await unfinishedUpload();
  expect(afterInterruption).toMatchObject({ state: 'resumable', pid: null });
  expect(afterInterruption.bytes_sent).toBeGreaterThanOrEqual(whileRunning.bytes_sent);
});

describe('upload of several files', () => {
  it.each([
    ['the service rejects the API key', 401, 4],
    ['the API key lacks a scope', 403, 5],
    ['the credits are used up', 402, 7],
    ['the storage is full', 507, 7],
  ])(
    'upload of several files ends if %s, after at most one failed request per parallel transfer',
    async (_what, status, exitCode) => {
      const files = Array.from({ length: 20 }, (_, n) => join(cli.home, `${status} ${n}.bin`));
      for (const [n, file] of files.entries()) writeRandomFile(file, { size: 10 + n });
      const proxy = await FaultProxy.start(sandbox.url, (request) =>
        request.nth > 6 && request.method !== 'GET' ? respondWith(status, { error: {} }) : undefined,
      );
      const args = ['upload', ...files, '--json', '--transfers', '4'];
      const { code, stdout, stderr } = await cli.run(args, { environment: { MEDIACTL_BASE_URL: proxy.url } });
      expect(proxy.requests.filter(({ method, nth }) => method === 'POST' && nth > 6).length).toBeLessThan(5);
      expect(code).toBe(exitCode);
      const records: { error: unknown }[] = JSON.parse(stdout);
      const { error } = JSON.parse(stderr.trimEnd().split('\n').at(-1) as string);
      expect(error.details.files_remaining_count).toBe(20 - records.length);
      const nextRun = await cli.json(['upload', ...files]);
      expect(nextRun.filter(({ error }: { error: unknown }) => error === null)).toHaveLength(20);
    },
  );

  it('upload exits with 2 before it sends any request and names every source that does not exist', async () => {
    const proxy = await FaultProxy.start(sandbox.url);
    const args = ['upload', '/no/such', '/nor/this', path, '--json'];
    const environment = { MEDIACTL_BASE_URL: proxy.url };
    const { code, stdout, stderr } = await cli.run(args, { environment });
    expect([code, stdout, proxy.requests]).toEqual([2, '', []]);
    const { error } = JSON.parse(stderr);
    expect(error.message).toBe('2 of 3 sources cannot be uploaded');
    expect(error.cause).toBe('no such file: /no/such; no such file: /nor/this');
  });

  it('upload exits with 11 if one of several files fails, and uploads the others', async () => {
    const [accepted, rejected] = ['good.bin', 'bad.bin'].map((name) => join(cli.home, name)) as [string, string];
    writeRandomFile(accepted, { size: 10 });
    writeRandomFile(rejected, { size: 20 });
    fault = ({ method, nth }) => (method === 'POST' && nth === 1 ? respondWith(413, 'no') : undefined);
    const args = ['upload', rejected, accepted, path, '--json', '--transfers', '1'];
    const { code, stdout, stderr } = await cli.run(args);
    expect(code).toBe(11);
    const records = JSON.parse(stdout);
    expect(records.map(({ path: each, verified }: never) => [each, verified])).toEqual([
      [rejected, null],
      [accepted, true],
      [path, true],
    ]);
    expect(records[0].error).toMatchObject({ code: 'rejected', exit_code: 6 });
    const { error } = JSON.parse(stderr.trimEnd().split('\n').at(-1) as string);
    expect(error.message).toBe('1 of 3 files was not uploaded');
    fault = () => undefined;
    writeRandomFile(path, { size: 30, seed: 'edited meanwhile: another file by now' });
    const nextRecords = await cli.json(args);
    const uidOf = (records: { path: string; asset_uid: string }[], file: string) =>
      records.find(({ path }) => path === file)?.asset_uid;
    expect(uidOf(nextRecords, accepted)).toBe(uidOf(records, accepted));
    expect(uidOf(nextRecords, path)).not.toBe(uidOf(records, path));
    expect(nextRecords.map(({ bytes_sent }: never) => bytes_sent)).toEqual([0, 20, 30]);
    expect(await cli.json(['uploads', 'ls'])).toEqual([]);
  });

  it('upload --limit-rate also limits the rate of a file of 3000 bytes', async () => {
    const clock = acceleratedClock({ speed: 20 });
    const startedAt = clock.now();
    await cli.run(['upload', path, '--limit-rate', '1000', '--existing', 'upload'], { clock });
    const totalSleepMs = clock.sleptMs.reduce((sum, delay) => sum + delay, 0);
    expect(clock.now() - startedAt).toBeGreaterThan(2700);
    expect(totalSleepMs).toBeLessThan(3100);
  });

  it('upload --flatten uploads the files of a directory and its subdirectories in the order of their paths', async () => {
    const folder = join(cli.home, 'rushes');
    mkdirSync(join(folder, 'day 2'), { recursive: true });
    for (const name of ['b.mov', 'a.mov', 'day 2/c.mov']) writeFileSync(join(folder, name), name);
    const records = await cli.json(['upload', '--flatten', folder, '--transfers', '1']);
    expect(records.map(({ asset_name }: { asset_name: string }) => asset_name)).toEqual(['a.mov', 'b.mov', 'c.mov']);
    expect((await cli.run(['upload', '--flatten', folder, '--name', 'x'])).code).toBe(2);
  });

  it('upload -q prints the uid of the asset, and @last refers to the newest asset', async () => {
    const { stdout } = await cli.run(['upload', path, '-q']);
    expect(await cli.json(['assets', 'get', '@last'])).toMatchObject([{ uid: stdout.trim() }]);
  });
});

it('upload guesses the content type from the file name, and --content-type overrides it', async () => {
  const clip = join(cli.home, 'a.mov');
  writeFileSync(clip, 'x');
  expect((await cli.json(['upload', clip, '-n']))[0].content_type).toBe('video/quicktime');
  expect((await cli.json(['upload', clip, '-n', '--content-type', 'video/mp4']))[0].content_type).toBe('video/mp4');
  expect(existsSync(join(cli.home, 'state/uploads'))).toBe(false);
});
