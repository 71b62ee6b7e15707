import { existsSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { MediactlError } from '../../src/client/errors.ts';
import { StateDatabase } from '../../src/client/upload/store/state-database.ts';
import { fastClock } from '../support/clock.ts';
import type { FakeAsset } from '../support/fake-library.ts';
import { FakeService } from '../support/fake-service.ts';
import { writeSome } from '../support/files.ts';
import { type Fault, respondWith } from '../support/interposer.ts';
import { startSandbox } from '../support/sandbox.ts';
import { changeState, databaseFile, failWrites, queryState } from '../support/state-database.ts';
import { chunkBytes, setUpUploader } from '../support/upload-setup.ts';

const world = setUpUploader();
const interrupted = () => new MediactlError('interrupted', { code: 'interrupted', exitCode: 130 });

describe('after an upload', () => {
  it('one that could not be processed may be sent again by the same command', async () => {
    world.path = world.path.replace(/bin$/, 'pdf');
    writeFileSync(world.path, world.bytes);
    const first = await world.upload(['--wait']);
    expect(first.code).toBe(12);
    expect(first.record).toMatchObject({ verified: true, bytes_sent: world.bytes.length });
    expect(first.record.session_uid).toMatch(/^[0-9a-f-]{36}$/);
    expect(world.unfinishedIds()).toEqual([]);
    world.bytes = Buffer.from('%PDF-1.7\n%mended\n');
    writeFileSync(world.path, world.bytes);
    const second = await world.upload(['--wait']);
    expect(second.record).toMatchObject({ asset_status: 'ready', verified: true });
  });

  it('interrupted between two files: what is done is still told', async () => {
    const abort = new AbortController();
    const other = join(world.cli.home, 'second.bin');
    writeSome(other, 1000);
    world.fault = ({ method, nth }) =>
      method === 'POST' && nth === 2 ? { respond: () => abort.abort(interrupted()) } : undefined;
    const ran = await world.cli.run(['upload', world.path, other, '--json', '--transfers', '1'], {
      environment: world.environment(),
      signal: abort.signal,
    });
    expect(ran.code).toBe(130);
    const records = JSON.parse(ran.stdout);
    // In order of completion: a file is reported after its receipt is on disk.
    expect(records.map(({ verified, error }: never) => [verified, error && (error as { code: string }).code])).toEqual(
      expect.arrayContaining([
        [true, null],
        [null, 'interrupted'],
      ]),
    );
    expect(records).toHaveLength(2);
  });

  it('many are waited for by pages of the list, not one by one', async () => {
    const files = [1, 2, 3, 4].map((n) => join(world.cli.home, `${n}.md`));
    for (const each of files) writeFileSync(each, `# ${each}`);
    const ran = await world.cli.run(['upload', ...files, '--wait', '--json'], {
      environment: world.environment(),
    });
    expect(JSON.parse(ran.stdout).map(({ asset_status }: never) => asset_status)).toEqual(Array(4).fill('ready'));
    const gets = world.interposer.requests.filter(({ method }) => method === 'GET').map(({ path: url }) => url);
    // Only the first asset, before the others are uploaded, and the last one left are polled individually.
    expect(gets).toContainEqual(expect.stringContaining('/assets/?limit=100'));
    const polled = gets.filter((url) => /\/assets\/[^/?]+\/$/.test(url));
    expect(new Set(polled).size).toBeLessThanOrEqual(2);
  });
});

describe('one file, one asset: whatever comes between the last byte and the result', () => {
  /** Makes the file a text, which is processed at once. */
  const text = () => {
    world.path = world.path.replace(/bin$/, 'md');
    world.bytes = Buffer.from(`# ${world.path}`);
    writeFileSync(world.path, world.bytes);
  };
  const gets = (fault: Fault): AbortSignal | undefined => {
    // Not the list of assets, with which the file is compared before it is uploaded.
    world.fault = ({ method, path }) => (method === 'GET' && /\/assets\/[^?]/.test(path) ? fault : undefined);
    return undefined;
  };
  const abort = () => {
    const controller = new AbortController();
    gets({ respond: () => controller.abort(interrupted()) });
    return controller.signal;
  };
  const processing = () => gets(respondWith(200, { uid: 'x', status: 'processing' }));

  it.each([
    ['the wait times out', 8, () => processing()],
    ['a 503 while waiting', 10, () => gets(respondWith(503, 'no'))],
    ['the service away while waiting', 10, () => gets({ respond: (response) => response.destroy() })],
    ['a refused key while waiting', 4, () => gets(respondWith(401, { error: {} }))],
    ['a web page while waiting', 10, () => gets(respondWith(200, '<html>Log in</html>'))],
    ['Ctrl-C while waiting', 130, () => abort()],
  ])('%s (exit %i), then the same command', async (_what, exit, begin) => {
    text();
    const signal = begin();
    const first = await world.upload(['--wait', '--timeout', '60s'], {
      clock: fastClock(2000),
      ...(signal && { signal }),
    });
    expect(first.code).toBe(exit);
    expect(first.record.asset_uid).not.toBeNull();
    world.fault = () => undefined;
    const second = await world.upload(['--wait']);
    expect(second.record).toMatchObject({ asset_status: 'ready', verified: true, bytes_sent: 0 });
    expect((await world.findAssets()).map(({ uid }) => uid)).toEqual([second.record.asset_uid]);
    expect(world.unfinishedIds()).toEqual([]);
  });

  it('a result that cannot be written is told by the same command', async () => {
    text();
    const program = ['upload', world.path, '--json', '--progress', 'none'];
    const { code } = await world.cli.run(program, {
      environment: world.environment(),
      stdoutError: 'ENOSPC',
    });
    expect(code).toBe(1);
    const { record } = await world.upload();
    expect(record).toMatchObject({ outcome: 'skipped', bytes_sent: 0, request_count: 0 });
    expect((await world.findAssets()).map(({ uid }) => uid)).toEqual([record.asset_uid]);
  });

  it('without a receipt: what the service has lost since is sent again to the same asset', async () => {
    await (await StateDatabase.open(world.stateDir)).close();
    const allowReceipts = failWrites(world.stateDir, "NEW.state = 'done'");
    const service = await FakeService.start();
    const run = () =>
      world.cli.run(['upload', world.path, '--json'], {
        environment: { ...world.environment(), MEDIACTL_BASE_URL: service.url },
      });
    expect((await run()).code).toBe(14);
    allowReceipts();
    expect(world.storedEntry().state).toBe('open');
    const [asset] = [...service.assets.values()] as [FakeAsset];
    asset.bytes = asset.bytes.subarray(0, 1000);
    asset.completedAt = undefined;
    const { stdout } = await run();
    expect(JSON.parse(stdout)[0]).toMatchObject({ asset_uid: asset.uid, verified: true });
    expect(asset.bytes.equals(world.bytes)).toBe(true);
    expect(service.assets.size).toBe(1);
  });

  it('a reader that has left ends nothing, quietly', async () => {
    const others = [1, 2, 3].map((n) => join(world.cli.home, `${n}.bin`));
    for (const other of others) writeSome(other, 1000, other);
    const paths = [world.path, ...others];
    const { code, stderr } = await world.cli.run(['upload', ...paths, '-q', '--transfers', '1'], {
      environment: world.environment(),
      stdoutError: 'EPIPE',
    });
    expect([code, stderr]).toEqual([0, '']);
    const found = await Promise.all(paths.map((path) => world.findAssets(basename(path))));
    expect(found.map(({ length }) => length)).toEqual([1, 1, 1, 1]);
  });

  it('touched meanwhile: the content is what counts; edited meanwhile: it is another file', async () => {
    text();
    processing();
    await world.upload(['--wait', '--timeout', '1s']);
    world.fault = () => undefined;
    utimesSync(world.path, 1, 1);
    expect((await world.upload()).record.bytes_sent).toBe(0);
    processing();
    await world.upload(['--wait', '--timeout', '1s']);
    world.fault = () => undefined;
    writeFileSync(world.path, '# other words, of the same length?');
    expect((await world.upload()).record.bytes_sent).toBeGreaterThan(0);
  });

  it('a finished file of a job that goes on after its session has expired is not sent twice', async () => {
    let now = Date.now();
    const sandbox = await startSandbox({ now: () => now });
    const [one, two] = ['one.md', 'two.md'].map((name) => join(world.cli.home, name)) as [string, string];
    writeFileSync(one, '# one');
    const run = (...paths: string[]) =>
      world.cli.run(['upload', ...paths, '--json'], {
        environment: {
          MEDIACTL_API_KEY: sandbox.key,
          MEDIACTL_BASE_URL: sandbox.url,
          MEDIACTL_WORKSPACE: sandbox.workspace,
        },
      });
    const first = JSON.parse((await run(one)).stdout);
    now += 25 * 3600_000;
    writeFileSync(two, '# two');
    const second = JSON.parse((await run(one, two)).stdout);
    expect(second[0]).toMatchObject({ asset_uid: first[0].asset_uid, bytes_sent: 0, error: null });
    expect(second[1].error).toBeNull();
    await sandbox.end();
  });

  it('what is done of an unfinished job is no longer among the unfinished', async () => {
    text();
    const other = join(world.cli.home, 'other.md');
    writeFileSync(other, '# other');
    const args = ['upload', world.path, other, '--json', '--transfers', '1'];
    const environment = world.environment();
    world.fault = ({ method, nth }) => (method === 'POST' && nth === 2 ? respondWith(413, 'too large') : undefined);
    expect((await world.cli.run(args, { environment })).code).toBe(11);
    world.fault = () => undefined;
    expect(await world.cli.json(['uploads', 'ls'], { environment })).toEqual([]);
    expect(await world.cli.json(['uploads', 'resume', '--all'], { environment })).toEqual([]);
    const records = await world.cli.json(
      args.filter((arg) => arg !== '--json'),
      { environment },
    );
    expect(records.map(({ bytes_sent }: never) => bytes_sent > 0)).toEqual([false, true]);
    expect(world.unfinishedIds()).toEqual([]);
  });
});

describe('a stored upload', () => {
  it('that is damaged ends the run with exit 14, before any upload request', async () => {
    const id = await world.interruptAfterTwoChunks();
    changeState(world.stateDir, 'UPDATE uploads SET entry = ? WHERE id = ?', '{torn', id);
    const { code, stderr } = await world.upload();
    expect([code, stderr]).toEqual([14, expect.stringContaining('the upload history is damaged')]);
    expect(world.interposer.uploadRequests).toEqual([]);
  });

  it('needs a state folder: without one, nothing is sent; with --force that is said, and it runs', async () => {
    writeFileSync(world.stateDir, 'a file where the folder should be');
    const refused = await world.upload();
    expect([refused.code, world.interposer.requests.length]).toEqual([14, 0]);
    const { code, record, stderr } = await world.upload(['--force']);
    expect(code).toBe(0);
    expect(stderr.match(/another run would upload it again/g)).toHaveLength(1);
    expect(world.storedBytes(record.asset_uid).equals(world.bytes)).toBe(true);
    expect(readFileSync(world.stateDir, 'utf8')).toContain('a file where');
  });

  it('is in files of mode 0600 in folders of 0700, without the key', async () => {
    await world.interruptAfterTwoChunks();
    const paths = readdirSync(world.stateDir, { recursive: true }).map((name) => join(world.stateDir, String(name)));
    expect(paths).toContain(databaseFile(world.stateDir));
    for (const path of [world.stateDir, ...paths]) {
      const found = statSync(path);
      expect([path, found.mode & 0o777]).toEqual([path, found.isDirectory() ? 0o700 : 0o600]);
      if (found.isFile()) expect(readFileSync(path, 'latin1')).not.toContain(world.sandbox.key);
    }
  });

  it('what killed runs have locked is free, and their temporary files are removed', async () => {
    const id = await world.interruptAfterTwoChunks();
    const killed = 'a-run-that-was-killed';
    const part = join(world.cli.home, 'part');
    writeFileSync(part, 'half a copy of stdin');
    changeState(world.stateDir, 'UPDATE uploads SET run = ?, pid = 1 WHERE id = ?', killed, id);
    const lock = "INSERT INTO uploads (id, state, path, run, pid) VALUES ('copying', 'planned', ?, ?, 1)";
    changeState(world.stateDir, lock, part, killed);
    const runs = join(world.stateDir, 'runs');
    writeFileSync(join(runs, `${killed}.lock`), '');
    const { record } = await world.upload();
    expect(record.resumed_from_bytes).toBe(2 * chunkBytes);
    await world.expectUploaded(record);
    expect([readdirSync(runs), existsSync(part)]).toEqual([[], false]);
    expect(queryState(world.stateDir, 'SELECT state, run FROM uploads')).toEqual([{ state: 'done', run: null }]);
  });
});

it('two at once on one file: one uploads, one leaves', async () => {
  let other: Awaited<ReturnType<typeof world.upload>> | undefined;
  world.fault = ({ method, nth }) =>
    method === 'PATCH' && nth === 2
      ? {
          beforeResponse: async () => {
            other = await world.upload([], { inProcess: 'compares the process id' });
          },
        }
      : undefined;
  const { code, record } = await world.upload([], { inProcess: 'compares the process id' });
  expect(code).toBe(0);
  await world.expectUploaded(record);
  expect(other?.code).toBe(6);
  expect(other?.record.error.message).toBe(`already uploading (pid ${process.pid})`);
  expect(other?.record.error.hint).not.toContain('resume');
  expect(world.interposer.methods.filter((method) => method === 'POST')).toHaveLength(1);
});

it('an upload that is under way is not forgotten', async () => {
  let forgot: { code: number } | undefined;
  world.fault = ({ method, nth }) =>
    method === 'PATCH' && nth === 2
      ? {
          beforeResponse: async () => {
            const { id } = world.storedEntry();
            forgot = await world.cli.run(['uploads', 'forget', id, '--yes']);
          },
        }
      : undefined;
  await world.expectUploaded((await world.upload()).record);
  expect(forgot?.code).toBe(6);
});
