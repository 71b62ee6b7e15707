import { mkdirSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CodedError } from '../../src/client/errors.ts';
import { Cli, type CliOptions, type CliResult } from '../support/cli.ts';
import { setUpCli } from '../support/cli-setup.ts';
import { acceleratedClockInProcess, clockWithStopTime } from '../support/clock.ts';
import { errorInTable, errorOf, recordedError } from '../support/errors.ts';
import { FaultProxy, respondWith } from '../support/fault-proxy.ts';
import { FileServer } from '../support/file-server.ts';
import { pseudoRandomBytes } from '../support/files.ts';
import { createLatch } from '../support/latch.ts';
import { pause, waitUntil } from '../support/machines.ts';
import { findSchemaErrors } from '../support/output-schema.ts';
import { openTestQueue } from '../support/queue-client.ts';
import { type RedisServer, redisCli, startRedis } from '../support/redis-server.ts';

/* Queued uploads as users see them: commands, output, and data in the store. */

const { setup, account } = setUpCli();

describe('upload --queue', { tags: 'redis-server' }, () => {
  let store: RedisServer;
  let media: string;
  let queue: string;
  const workers: { stop: AbortController; ended: Promise<CliResult> }[] = [];
  beforeAll(async () => {
    store = await startRedis();
  });
  afterAll(() => store.end());
  beforeEach(() => {
    queue = `${store.address}#q${Math.random().toString(36).slice(2)}`;
    media = join(setup.cli.home, 'media');
    mkdirSync(media);
  });
  afterEach(async () => {
    for (const { stop } of workers) stop.abort();
    await Promise.all(workers.splice(0).map(({ ended }) => ended));
  });

  const run = (args: string[], options: CliOptions = {}) =>
    setup.cli.run(args, {
      clock: acceleratedClockInProcess({ speed: 5 }),
      ...options,
      environment: { MEDIACTL_QUEUE: queue, ...options.environment },
    });
  const runJson = async (args: string[]) => {
    const { code, stdout, stderr } = await run([...args, '--json']);
    expect(code, stderr).toBe(0);
    return JSON.parse(stdout);
  };
  /** Starts a worker as another machine; it stops when the test ends. */
  const startWorker = (args: string[] = [], options: CliOptions = {}, root = media) => {
    const stop = new AbortController();
    const output = { stderr: '' };
    const ended = new Cli(account()).run(['queue', 'work', '--root', root, '--jsonl', ...args], {
      onStderr: (text) => {
        output.stderr = text;
      },
      ...options,
      environment: { MEDIACTL_QUEUE: queue, ...options.environment },
      signal: stop.signal,
    });
    workers.push({ stop, ended });
    return { stop, ended, output };
  };
  let fileCount = 0;
  // Each test writes files of another size, so that none is taken for an asset of another test.
  const createFile = (name: string, bytes: Buffer | string = `# ${name}${' '.repeat(++fileCount)}`) => {
    const path = join(media, name);
    writeFileSync(path, bytes);
    return path;
  };
  const listJobs = (...more: string[]) => runJson(['queue', 'ls', ...more]);

  it('upload --queue prints job ids, a worker uploads the files, and --wait prints the records of an upload', async () => {
    const paths = [createFile('a.md'), createFile('b.md')];
    const args = ['--folder', '/Queued', '--create-folders', '--description', 'of the test'];
    const queueRun = await run(['upload', ...paths, ...args, '--queue', '--jsonl']);
    expect([queueRun.code, queueRun.stderr]).toEqual([
      0,
      [
        'warning: no worker takes files: none is running, or each is paused, as its log says; to start one on a machine that can read the files: mediactl queue work',
        '2 queued',
        'to watch the workers: mediactl queue watch\n',
      ].join('\n'),
    ]);
    const queued = queueRun.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(queued).toMatchObject(paths.map((path) => ({ path, outcome: 'queued', asset_uid: null, error: null })));
    const jobsBefore = await run(['queue', 'ls', '--json']);
    expect(jobsBefore.stderr).toContain('no worker takes files');
    expect(jobsBefore.stderr).toMatch(/\(redis [\d.]+\): 2 uploads remaining, 0 failed, 0 workers connected$/m);
    expect(JSON.parse(jobsBefore.stdout)).toMatchObject(
      queued.map(({ job_id }) => ({ id: job_id, state: 'waiting', worker: null })),
    );
    startWorker(['--name', 'station-3']);
    const records = await runJson(['upload', ...paths, ...args, '--queue', '--wait']);
    expect(records.map((record: object) => Object.keys(record))).toEqual(queued.map((record) => Object.keys(record)));
    for (const record of records)
      expect(record).toMatchObject({ verified: true, asset_status: 'ready', request_count: 2, error: null });
    const uids = records.map(({ asset_uid }: { asset_uid: string }) => asset_uid);
    const [asset] = await runJson(['assets', 'get', uids[0]]);
    expect(asset).toMatchObject({ description: 'of the test' });
    const finishedJobs = await listJobs('--finished');
    expect(finishedJobs.map(({ asset_uid }: { asset_uid: string }) => asset_uid).sort()).toEqual(uids.sort());
    expect(finishedJobs[0]).toMatchObject({ state: 'uploaded', worker: 'station-3', attempts: 1, crashes: 0 });
    expect(await listJobs()).toEqual([]);
    expect(await findSchemaErrors(setup.cli, 'queue ls', finishedJobs)).toEqual([]);
  });

  it('upload --queue of the same file returns the same job, and skips the file once it is uploaded', {
    tags: 'undocumented-fields',
  }, async () => {
    const path = createFile('once.md');
    const queued = await runJson(['upload', path, '--queue']);
    expect(await runJson(['upload', path, '--queue'])).toEqual(queued);
    startWorker();
    const [uploaded] = await runJson(['upload', path, '--queue', '--wait']);
    const [skipped] = await runJson(['upload', path, '--queue']);
    expect(skipped).toMatchObject({ outcome: 'skipped', asset_uid: uploaded.asset_uid, bytes_sent: 0 });
    const [forced] = await runJson(['upload', path, '--queue', '--wait', '--existing', 'upload']);
    expect(forced).toMatchObject({ outcome: 'uploaded', resumed_from_bytes: null });
    expect(forced.asset_uid).not.toBe(uploaded.asset_uid);
    await runJson(['queue', 'forget', '--finished', '--yes']);
    expect(await listJobs('--finished')).toEqual([]);
    // This machine has a local receipt, another one has not.
    expect((await runJson(['upload', path]))[0]).toMatchObject({ outcome: 'skipped', asset_uid: forced.asset_uid });
    const otherCli = new Cli({ ...account(), MEDIACTL_QUEUE: queue });
    const [otherUpload] = await otherCli.json(['upload', path, '--queue', '--wait']);
    expect(otherUpload).toMatchObject({ outcome: 'same_name_and_size', asset_uid: expect.any(String) });
  });

  it('sync --queue follows a file that is renamed, and then renamed back', {
    tags: 'undocumented-fields',
  }, async () => {
    const [path, renamed] = [createFile('take.md'), join(media, 'opening.md')];
    createFile('other.md');
    startWorker();
    const sync = async () => {
      const records = await runJson(['sync', media, '/Renamed', '--queue', '--wait']);
      const assets = await runJson(['ls', '/Renamed']);
      const outcomes = records.map((each: { outcome: string }) => each.outcome).sort();
      return { outcomes, names: assets.map(({ name }: { name: string }) => name).sort() };
    };
    expect(await sync()).toEqual({ outcomes: ['uploaded', 'uploaded'], names: ['other.md', 'take.md'] });
    renameSync(path, renamed);
    expect(await sync()).toEqual({ outcomes: ['moved', 'skipped'], names: ['opening.md', 'other.md'] });
    renameSync(renamed, path);
    expect(await sync()).toEqual({ outcomes: ['moved', 'skipped'], names: ['other.md', 'take.md'] });
    expect((await run(['sync', media, '/Renamed', '--prune', '--yes', '--json'])).stderr).not.toContain('trash');
    expect((await sync()).names).toEqual(['other.md', 'take.md']);
  });

  it('sync --prune keeps the asset of a file that was renamed, renamed back and found in a queue', {
    tags: 'undocumented-fields',
  }, async () => {
    const [path, renamed] = [createFile('take.md'), join(media, 'opening.md')];
    createFile('other.md');
    startWorker();
    const uploadAgain = (command: string) => runJson([command, media, '/Back', '--queue', '--wait']);
    await uploadAgain('sync');
    renameSync(path, renamed);
    await uploadAgain('sync');
    renameSync(renamed, path);
    await uploadAgain('upload');
    await run(['sync', media, '/Back', '--prune', '--yes', '--json']);
    expect(await runJson(['ls', '/Back'])).toHaveLength(2);
  });

  it('upload --queue does not take the path that follows as a queue URL', async () => {
    const path = createFile('after.md');
    const { code, stdout } = await run(['upload', '--queue', path, '--jsonl']);
    expect([code, JSON.parse(stdout).path]).toEqual([0, path]);
  });

  it('a missing or changed file fails its own job with a reason, and the worker uploads the other files', async () => {
    const [unchanged, deleted, edited] = [
      createFile('good.md'),
      createFile('gone.md'),
      createFile('written.md', 'four'),
    ];
    await runJson(['upload', unchanged, deleted, edited, '--queue']);
    rmSync(deleted);
    writeFileSync(edited, 'fore');
    utimesSync(edited, new Date(), new Date(Date.now() + 5_000));
    startWorker();
    await waitUntil(async () => (await listJobs('--finished')).length === 1);
    await waitUntil(async () => (await listJobs()).length === 2);
    await waitUntil(async () => (await listJobs()).every(({ state }: { state: string }) => state === 'failed'));
    const failed = await listJobs();
    expect(failed.map(({ error }: { error: { code: string } }) => error.code).sort()).toEqual([
      ...['file_changed', 'file_unusable'],
    ]);
    const table = await run(['queue', 'ls'], { tty: true, columns: 400 });
    expect(table.stdout).toMatch(/failed: .*written\.md changed since it was queued/);
    // Once the file is back, the same command sends it.
    writeFileSync(deleted, '# gone.md');
    const { code, stdout } = await run(['upload', deleted, '--queue', '--wait', '--json']);
    expect([code, JSON.parse(stdout)[0].asset_status]).toEqual([0, 'ready']);
    for (const { stop } of workers) stop.abort();
    await Promise.all(workers.map(({ ended }) => ended));
    const retried = await runJson(['queue', 'retry', edited]);
    expect(retried).toMatchObject([{ path: edited, state: 'waiting' }]);
    expect(await findSchemaErrors(setup.cli, 'queue retry', retried)).toEqual([]);
  });

  it('a worker accepts a file whose modification time differs only in fractions of a second', async () => {
    const files = ['1.md', '2.md', '3.md'].map((name) => createFile(name));
    const setTimes = (secondsFraction: number) => {
      for (const path of files) utimesSync(path, 0, 1_700_000_000 + secondsFraction);
    };
    setTimes(0.7654321);
    const firstRun = run(['upload', ...files, '--queue', '--wait', '--jsonl']);
    await waitUntil(async () => (await listJobs()).length === 3);
    setTimes(0);
    startWorker();
    expect((await firstRun).code).toBe(0);
    // Also with whole seconds in the queue and fractions on disk, but not with a different second.
    const [first, second] = files as [string, string];
    const secondRun = run(['upload', first, second, '--queue', '--wait', '--existing', 'upload', '--json']);
    for (const { stop } of workers) stop.abort();
    await waitUntil(async () => (await listJobs()).length === 2);
    utimesSync(first, 0, 1_700_000_000.9);
    utimesSync(second, 0, 1_700_000_001.1);
    startWorker();
    const { code, stdout } = await secondRun;
    const codes = JSON.parse(stdout).map(({ error }: { error: { code: string } | null }) => error?.code);
    expect([code, codes]).toEqual([11, [undefined, 'file_changed']]);
  });

  it('a worker pauses after ten failures in a row with one code, then tries one file at a time until one succeeds', async () => {
    const paths = Array.from({ length: 14 }, (_, n) => createFile(`${n}.md`));
    const setTimes = (seconds: number) => paths.forEach((path) => void utimesSync(path, seconds, seconds));
    setTimes(1_700_000_000);
    await runJson(['upload', ...paths, '--queue']);
    setTimes(1_800_000_000);
    const { output } = startWorker(['--lease', '1s', '--transfers', '1']);
    const pauses = () => output.stderr.match(/this worker is paused: .* failed with file_changed/g) ?? [];
    await waitUntil(() => pauses().length >= 3);
    const attempts = (await listJobs()).reduce((sum: number, job: { attempts: number }) => sum + job.attempts, 0);
    expect(pauses()[0]).toContain('10 files in a row failed');
    expect(pauses()[1]).toContain('the file that this worker tried after its pause failed');
    expect(attempts).toBeLessThanOrEqual(10 + pauses().length);
    setTimes(1_700_000_000);
    expect((await run(['upload', ...paths, '--queue', '--wait'])).code).toBe(0);
    expect(output.stderr).toContain('this worker has resumed');
  });

  it('a worker leaves a file outside its roots to another worker, and upload --wait names it', async () => {
    const path = createFile('outside.md');
    const elsewhere = join(setup.cli.home, 'elsewhere');
    mkdirSync(elsewhere);
    const uploadRun = run(['upload', path, '--queue', '--wait', '--json']);
    startWorker(['--name', 'station-9'], {}, elsewhere);
    await waitUntil(async () => (await listJobs())[0]?.state === 'retrying');
    const [job] = await listJobs();
    expect(job).toMatchObject({ worker: 'station-9', error: { code: 'outside_roots', retryable: true } });
    for (const { stop } of workers) stop.abort();
    startWorker();
    const { code, stderr } = await uploadRun;
    expect([code, stderr]).toEqual([0, expect.stringContaining('outside the roots of station-9')]);
  });

  it('upload --wait exits with the code of the failed file; queue retry and forget exit with 3 for unknown ids', async () => {
    const path = createFile('vanished.md');
    createFile('stays.md'); // an empty root counts as a disk that is not mounted
    const uploadRun = run(['upload', path, '--queue', '--wait', '--json']);
    await waitUntil(async () => (await listJobs()).length === 1);
    rmSync(path);
    for (const name of ['one', 'other']) startWorker(['--name', name]);
    const { code, stderr } = await uploadRun;
    expect([code, stderr]).toEqual([2, expect.stringContaining('no such file')]);
    for (const name of ['one', 'other']) expect(stderr).toContain(`${name}: no such file`);
    expect((await run(['queue', 'retry', 'u000'])).code).toBe(3);
    expect((await run(['queue', 'forget', 'u000', '--yes'])).code).toBe(3);
    const [{ id }] = await listJobs();
    expect((await run(['queue', 'forget', id])).code).toBe(2);
    // Accepts its path too, or a prefix of its id.
    expect((await run(['queue', 'retry', path, '-n'])).code).toBe(0);
    const forgetArgs = ['queue', 'forget', id.slice(0, 8), '--yes'];
    expect((await run(forgetArgs)).code).toBe(0);
    expect(await listJobs()).toEqual([]);
  });

  it('queue retry rejects a waiting job; upload --wait reports not_found for a job that is forgotten', async () => {
    const path = createFile('taken.md');
    const uploadRun = run(['upload', path, '--queue', '--wait', '--json']);
    await waitUntil(async () => (await listJobs()).length === 1);
    const [{ id }] = await listJobs();
    expect(errorOf(await run(['queue', 'retry', id, '--json']))).toEqual(errorInTable('conflict'));
    await runJson(['queue', 'forget', id, '--yes']);
    const [{ error }] = JSON.parse((await uploadRun).stdout);
    expect(recordedError(error)).toEqual({ code: 'not_found', exit: 3, hint: 'queue it again' });
  });

  it('queue ls --limit prints the first uploads and says that there are more', async () => {
    await runJson(['upload', ...['1', '2', '3'].map((name) => createFile(`${name}.md`)), '--queue']);
    const { stdout, stderr } = await run(['queue', 'ls', '--limit', '2', '--jsonl']);
    expect(stdout.trim().split('\n')).toHaveLength(2);
    expect(stderr).toContain('the first 2 uploads; --limit for more');
    expect(await listJobs('--limit', '3')).toHaveLength(3);
    expect((await run(['uploads', 'ls', '--limit', '2'])).code).toBe(2);
  });

  it('queue forget --finished --older-than removes only jobs that finished longer ago than that', async () => {
    const [oldFile, recentFile] = [createFile('old.md'), createFile('recent.md')];
    startWorker();
    for (const path of [oldFile, recentFile]) expect((await run(['upload', path, '--queue', '--wait'])).code).toBe(0);
    const jobs: { id: string; path: string }[] = await listJobs('--finished');
    const { id = '' } = jobs.find(({ path }) => path === oldFile) ?? {};
    await overwriteJobFields(queue, id, { finishedOn: String(Date.now() - 31 * 24 * 3600 * 1000) });
    const runForget = (...args: string[]) => run(['queue', 'forget', '--json', '--yes', ...args]);
    expect((await runForget('--older-than', '30d')).code).toBe(2);
    expect(JSON.parse((await runForget('--finished', '--older-than', '32d')).stdout)).toEqual([]);
    const { stdout } = await runForget('--finished', '--older-than', '30d');
    expect(JSON.parse(stdout).map((row: { path: string }) => row.path)).toEqual([oldFile]);
    expect(await findSchemaErrors(setup.cli, 'queue forget', JSON.parse(stdout))).toEqual([]);
    expect((await listJobs('--finished')).map((row: { path: string }) => row.path)).toEqual([recentFile]);
  });

  describe('mediactl queue work --metrics', () => {
    const get = async (worker: { stderr: string }, path: string) => {
      const origin = /http:\/\/127\.0\.0\.1:\d+(?=\/metrics)/.exec(worker.stderr)?.[0];
      const response = await fetch(`${origin}${path}`);
      return { status: response.status, text: await response.text() };
    };
    /** Starts a worker with a log and metrics. */
    const startWorkerWithMetrics = async (format: string, args: string[], root?: string, environment = {}) => {
      const started = startWorker(
        ['--name', 'w1', '--log-format', format, '--metrics', '0', ...args],
        { environment },
        root,
      );
      await waitUntil(() => started.output.stderr.includes('uploads from'));
      return started;
    };
    const metricValue = (text: string, name: string) =>
      Number(
        text
          .split('\n')
          .find((line) => line.startsWith(`${name} `))
          ?.split(' ')[1],
      );

    it('a worker logs each event as JSON with time, level, worker and file, and counts it in its metrics', async () => {
      const { output, stop, ended } = await startWorkerWithMetrics('json', []);
      const path = createFile('a.md');
      const refusedFile = createFile('b.mp4', 'not a video');
      expect((await run(['upload', path, '--queue', '--wait'])).code).toBe(0);
      await run(['upload', refusedFile, '--workspace', '00000000-0000-4000-8000-00000000000a', '--queue', '--wait']);
      const { text } = await get(output, '/metrics');
      expect(metricValue(text, 'mediactl_files_total{outcome="uploaded"}')).toBe(1);
      expect(metricValue(text, 'mediactl_bytes_sent_total')).toBe(statSync(path).size);
      expect(metricValue(text, 'mediactl_queue_up')).toBe(1);
      expect(metricValue(text, 'mediactl_queue_files{state="waiting"}')).toBe(0);
      expect(metricValue(text, 'mediactl_rate_limit_remaining')).toBeGreaterThan(0);
      for (const secret of [setup.sandbox.key, setup.cli.home, 'a.md']) expect(text).not.toContain(secret);
      expect(await get(output, '/healthz')).toMatchObject({ status: 200, text: '{"status":"ok"}\n' });
      expect(await get(output, '/')).toMatchObject({ status: 404 });
      stop.abort();
      await ended;
      const events = output.stderr
        .trim()
        .split('\n')
        .map((event) => JSON.parse(event));
      for (const event of events)
        expect(event).toMatchObject({
          time: expect.stringMatching(/^\d{4}-.*Z$/),
          worker: 'w1',
          message: expect.any(String),
        });
      const eventsOfFile = events.filter((event) => event.path === path);
      expect(eventsOfFile.map(({ level, message }) => [level, message])).toEqual([
        ['info', 'started'],
        ['info', 'uploaded, verified'],
      ]);
      expect(eventsOfFile[1]).toMatchObject({ asset_uid: expect.any(String), size_bytes: statSync(path).size });
    });

    it('a worker with a wrong root explains in log, metrics and health check why it is paused', async () => {
      const elsewhere = join(setup.cli.home, 'unmounted');
      mkdirSync(elsewhere);
      writeFileSync(join(elsewhere, '.DS_Store'), '');
      for (const n of [1, 2, 3, 4]) createFile(`${n}.md`);
      await run(['upload', '--flatten', media, '--queue', '--root', `media=${media}`]);
      const { output } = await startWorkerWithMetrics('text', [], `media=${elsewhere}`);
      await waitUntil(() => output.stderr.includes('this worker is paused'));
      expect(output.stderr).toMatch(/^\S+Z warn w1 this worker is paused: .*contains only 0 of 4 queued files.*$/m);
      expect(
        output.stderr
          .trim()
          .split('\n')
          .every((line) => /^\d{4}-\S+Z (info|warn|error) w1 /.test(line)),
      ).toBe(true);
      const { text } = await get(output, '/metrics');
      expect(metricValue(text, 'mediactl_worker_paused{code="root_unusable"}')).toBe(1);
      expect(metricValue(text, 'mediactl_queue_files{state="waiting"}')).toBe(4);
      expect(metricValue(text, 'mediactl_queue_oldest_age_seconds')).toBeGreaterThan(0);
      const health = await get(output, '/healthz');
      expect([health.status, JSON.parse(health.text)]).toEqual([
        503,
        {
          status: 'paused',
          code: 'root_unusable',
          reason: expect.stringContaining('0 of 4'),
          hint: expect.any(String),
        },
      ]);
      expect((await run(['queue', 'ls'])).stderr).toContain('no worker takes files');
    });

    it('worker --metrics serves only loopback addresses, and rejects other Host headers with 403', async () => {
      const { output } = await startWorkerWithMetrics('text', []);
      const [, port = ''] = /http:\/\/127\.0\.0\.1:(\d+)/.exec(output.stderr) ?? [];
      const statusFor = async (host: string) => {
        const socket = connect(Number(port), '127.0.0.1');
        socket.write(`GET /healthz HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
        return (await readText(socket)).split(' ')[1];
      };
      // The second is what a page of another site sends by DNS rebinding.
      expect([await statusFor(`localhost:${port}`), await statusFor(`media.example:${port}`)]).toEqual(['200', '403']);
      for (const address of ['0.0.0.0:9464', 'metrics.lan:9464', '127.0.0.1:x', ':'])
        expect((await run(['queue', 'work', '--metrics', address])).code).toBe(2);
    });

    it('worker --metrics on another address accepts only requests with MEDIACTL_METRICS_TOKEN from other machines', async () => {
      const token = 'a-token-for-prometheus';
      const address = '127.0.0.2'; // reaches this machine, but is not the address of its own requests
      const environment = { MEDIACTL_METRICS_TOKEN: token };
      const { output } = startWorker(['--metrics', '0.0.0.0:0'], { environment });
      await waitUntil(() => output.stderr.includes('/metrics'));
      const [, port] = /http:\/\/0\.0\.0\.0:(\d+)/.exec(output.stderr) ?? [];
      const statusOf = async (host: string, authorization?: string) =>
        (await fetch(`http://${host}:${port}/metrics`, { headers: authorization ? { authorization } : {} })).status;
      expect([
        await statusOf(address),
        await statusOf(address, 'Bearer another-token-than-that'),
        await statusOf(address, `Bearer ${token}`),
        await statusOf('127.0.0.1'),
      ]).toEqual([401, 401, 200, 200]);
      expect(output.stderr).not.toContain(token);
    });

    it('a paused queue shows its waiting files in the metrics, and as queue_paused in the health check', async () => {
      await runJson(['upload', createFile('later.md'), '--queue', '--root', `media=${media}`]);
      await (await openTestQueue(queue)).setPaused(true);
      const { output } = await startWorkerWithMetrics('json', [], `media=${media}`);
      expect(output.stderr).toContain('the queue is paused; to resume it: mediactl queue retry --all');
      const { status, text } = await get(output, '/healthz');
      expect([status, JSON.parse(text)]).toMatchObject([
        503,
        { status: 'queue_paused', code: 'queue_paused', hint: errorInTable('queue_paused').hint },
      ]);
      const metrics = (await get(output, '/metrics')).text;
      expect(metricValue(metrics, 'mediactl_queue_files{state="waiting"}')).toBe(1);
      expect(metricValue(metrics, 'mediactl_queue_paused')).toBe(1);
    });

    it('a worker whose service cannot be reached says so in its metrics and its health check', async () => {
      const proxy = await FaultProxy.start(setup.sandbox.url, ({ method }) =>
        method === 'POST' ? { respond: (response) => void response.destroy() } : undefined,
      );
      const environment = { MEDIACTL_BASE_URL: proxy.url };
      await run(['upload', createFile('unsent.md'), '--queue'], { environment });
      const { output } = await startWorkerWithMetrics('json', [], media, environment);
      await waitUntil(async () => (await get(output, '/healthz')).status === 503);
      const { text } = await get(output, '/healthz');
      expect(JSON.parse(text)).toMatchObject({
        status: 'service_unreachable',
        reason: 'the service cannot be reached',
      });
      const metrics = (await get(output, '/metrics')).text;
      expect(metricValue(metrics, 'mediactl_service_up')).toBe(0);
    });
  });

  it('upload --queue and queue ls warn of files below a root that no connected worker has', async () => {
    const { output } = startWorker(['--name', 'w1']);
    await waitUntil(() => output.stderr.includes('uploads from'));
    const { stderr } = await run(['upload', createFile('alone.md'), '--queue', '--root', `arch=${media}`]);
    expect(stderr).toContain(
      'no connected worker has the root arch; start one: mediactl queue work --root arch=DIRECTORY',
    );
    expect((await run(['queue', 'ls', '--json'])).stderr).toContain(
      'no connected worker has the root arch of 1 waiting file; start one: mediactl queue work --root arch=DIRECTORY',
    );
    startWorker(['--name', 'w1'], {}, `arch=${media}`);
    await waitUntil(async () => (await listJobs('--finished')).length === 1);
    expect((await run(['queue', 'ls'])).stderr).not.toContain('has the root');
  });

  it('the commands that upload and queue ls suggest name a queue that is not the one of the settings', async () => {
    const environment = { MEDIACTL_QUEUE: '' };
    const address = `${queue}-other`;
    const queueing = await run(['upload', createFile('other.md'), '--queue', address], { environment });
    expect(queueing.stderr).toContain(`to watch the workers: mediactl queue watch --queue '${address}'`);
    const { stderr } = await run(['queue', 'ls', '--queue', address], { environment });
    expect(stderr).toContain(`mediactl queue work --queue '${address}'`);
  });

  it('a worker warns if another connected worker has its name', async () => {
    const outputs: { stderr: string }[] = [];
    for (const _ of [1, 2]) {
      const { output } = startWorker(['--name', 'twin']);
      outputs.push(output);
      await waitUntil(() => output.stderr.includes('uploads from'));
      await pause(500);
    }
    const warning = 'another worker is named twin; give each its own --name';
    expect(outputs.map(({ stderr }) => stderr.includes(warning))).toEqual([false, true]);
  });

  it('uploads forget exits with 6 while a worker uploads the file', async () => {
    const path = createFile('large.bin', pseudoRandomBytes(3_000_000, 'large'));
    const slowWorker = startWorker(['--limit-rate', '200KB']);
    const [{ job_id: id }] = await runJson(['upload', path, '--queue']);
    await waitUntil(async () => (await listJobs())[0]?.state === 'uploading');
    await waitUntil(async () => (await listJobs())[0]?.offset_bytes > 0);
    const { code, stderr } = await run(['queue', 'forget', id, '--yes']);
    expect([code, stderr]).toEqual([6, expect.stringContaining('a worker is uploading it')]);
    slowWorker.stop.abort(Object.assign(new Error('interrupted')));
  });

  it('upload --queue --wait --stop-at exits with 0 at that time, and a worker can still finish the job', async () => {
    const path = createFile('until.md');
    const stopTime = createLatch();
    const clock = clockWithStopTime(acceleratedClockInProcess({ speed: 5 }), stopTime.opened);
    const ended = run(['upload', path, '--queue', '--wait', '--stop-at', '1h'], { clock });
    await waitUntil(async () => (await listJobs()).length === 1);
    stopTime.open();
    const { code, stderr } = await ended;
    expect([code, stderr]).toEqual([0, expect.stringContaining('stopped after 1h, 1 file remaining')]);
    startWorker();
    await waitUntil(async () => (await listJobs('--finished')).length === 1);
  });

  it('a worker exits with 4 at its start if the service rejects the API key', async () => {
    const { ended } = startWorker([], { environment: { MEDIACTL_API_KEY: 'not-a-key-of-anybody' } });
    expect((await ended).code).toBe(4);
  });

  it('upload --queue --wait exits with 130 on Ctrl-C, and the workers continue', async () => {
    const path = createFile('patient.md');
    const abort = new AbortController();
    const interrupted = new CodedError('interrupted', { code: 'interrupted' });
    const uploadRun = run(['upload', path, '--queue', '--wait'], { signal: abort.signal });
    await waitUntil(async () => (await listJobs()).length === 1);
    abort.abort(interrupted);
    const { code, stderr } = await uploadRun;
    expect([code, stderr]).toEqual([130, expect.stringContaining('1 not finished')]);
    startWorker();
    await waitUntil(async () => (await listJobs('--finished')).length === 1);
  });

  it.each([
    [['sync', '/Stopped', '--create-folders'], 150],
    // Without a sync, the directory is not read to its end.
    [['upload', '--flatten'], 1],
  ])(
    'Ctrl-C while %j --queue adds files exits with 130, and says how many are left',
    async ([verb = '', ...args], left) => {
      for (let nth = 0; nth < 250; nth++) createFile(`${nth}.md`);
      const abort = new AbortController();
      const queueing = run([verb, media, ...args, '--queue', '--json', '--progress', 'json'], {
        signal: abort.signal,
        onStderr: (text) => {
          if (text.includes('"outcome":"queued"')) abort.abort(new CodedError('interrupted', { code: 'interrupted' }));
        },
      });
      const { code, stdout, stderr } = await queueing;
      const { error } = JSON.parse(stderr.trim().split('\n').at(-1) ?? '');
      expect([code, error.details.files_remaining_count]).toEqual([130, left]);
      expect(error.hint).toContain('run the same command again to continue');
      expect([JSON.parse(stdout).length, (await listJobs()).length]).toEqual([100, 100]);
    },
  );

  it('queue watch shows the progress of all queued files, and ends when the queue is empty', async () => {
    for (const name of ['1.md', '2.md', '3.md']) createFile(name);
    await runJson(['upload', '--flatten', media, '--queue']);
    const watching = run(['queue', 'watch', '--jsonl', '--progress', 'json']);
    await pause(300);
    const fileQueuedLater = createFile('later.md');
    await runJson(['upload', fileQueuedLater, '--queue']);
    const { stop, ended } = startWorker();
    const { code, stdout, stderr } = await watching;
    expect(code).toBe(0);
    stop.abort();
    const recordsIn = (lines: string) =>
      lines
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
    const recordsByCommand = { 'queue watch': recordsIn(stdout), 'queue work': recordsIn((await ended).stdout) };
    for (const [command, records] of Object.entries(recordsByCommand)) {
      expect(records.map(({ outcome }) => outcome)).toEqual(Array(4).fill('uploaded'));
      expect(await findSchemaErrors(setup.cli, command, records)).toEqual([]);
    }
    const events = stderr.split('\n').filter((line) => line.startsWith('{'));
    const plannedEvents = events.map((line) => JSON.parse(line)).filter(({ event }) => event === 'planned');
    expect(plannedEvents.at(-1)).toMatchObject({ files_total: 4 });
    const watchOfEmptyQueue = await run(['queue', 'watch']);
    expect([watchOfEmptyQueue.code, watchOfEmptyQueue.stderr]).toEqual([0, 'the queue is empty\n']);
  });

  it.each([2, 6])(
    'queue watch exits with 11 and says how many files are gone if the store loses the %d files of the queue',
    async (count) => {
      for (let nth = 0; nth < count; nth++) createFile(`lost ${nth}.md`);
      await runJson(['upload', '--flatten', media, '--queue']);
      let shown = '';
      const onStderr = (text: string) => {
        shown = text;
      };
      const watching = run(['queue', 'watch', '--json', '--progress', 'json'], { onStderr });
      await waitUntil(() => shown.includes(`"files_total":${count}`));
      redisCli(store, 'FLUSHALL');
      const { code, stderr } = await watching;
      expect([code, JSON.parse(stderr.trim().split('\n').at(-1) ?? '').error]).toMatchObject([
        11,
        {
          code: 'partial_failure',
          message: `${count} of ${count} files disappeared from the queue and did not get uploaded`,
          cause: 'its store has lost them, or they were removed',
        },
      ]);
      expect(stderr).not.toContain('the queue is empty');
    },
  );

  it('queue watch does not call a file lost that failed, and was retried and uploaded while it watched', async () => {
    const path = createFile('retried.md', '# retried');
    const elsewhere = join(setup.cli.home, 'elsewhere');
    mkdirSync(elsewhere, { recursive: true });
    writeFileSync(join(elsewhere, 'other.md'), '# other');
    await runJson(['upload', path, join(elsewhere, 'other.md'), '--queue']);
    renameSync(path, `${path}.away`);
    startWorker(); // leaves the other file to another worker, so that the watch goes on
    const watching = run(['queue', 'watch', '--json']);
    await waitUntil(async () => (await listJobs()).some(({ state }: { state: string }) => state === 'failed'));
    renameSync(`${path}.away`, path);
    await run(['queue', 'retry', '--all']);
    await waitUntil(async () => (await listJobs('--finished')).length === 1);
    startWorker([], {}, elsewhere);
    const { stdout, stderr } = await watching;
    expect(stderr).not.toContain('disappeared from the queue');
    const outcomes = JSON.parse(stdout).filter((each: { path: string }) => each.path === path);
    expect(outcomes.at(-1)).toMatchObject({ outcome: 'uploaded' });
  });

  it('queue watch shows a file that a worker starts as soon as it is queued', async () => {
    const [first, second] = ['one.bin', 'two.bin'].map((name) => createFile(name, pseudoRandomBytes(400_000, name)));
    startWorker(['--limit-rate', '200KB']);
    await runJson(['upload', first as string, '--queue']);
    await waitUntil(async () => (await listJobs())[0]?.state === 'uploading');
    const watching = run(['queue', 'watch', '--progress', 'json']);
    await pause(300);
    await runJson(['upload', second as string, '--queue']);
    const { stderr } = await watching;
    const events = stderr.split('\n').filter((line) => line.startsWith('{'));
    const started = events
      .map((line) => JSON.parse(line))
      .flatMap(({ event, path }) => (event === 'started' ? [path] : []));
    expect(started.sort()).toEqual([first, second]);
  });

  it('a worker uploads from a signed URL below its root, and no output shows the signature', async () => {
    const fileServer = await FileServer.start(pseudoRandomBytes(100_000, 'far'));
    const signedUrl = `${fileServer.url}?X-Amz-Signature=5ecre7`;
    const refused = await run(['upload', signedUrl, '--queue']);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('--yes')]);
    expect(refused.stderr).not.toContain('5ecre7');
    await runJson(['upload', signedUrl, '--queue', '--yes']);
    expect(store.dump()).toContain('5ecre7');
    const worker = startWorker(['--root', new URL(fileServer.url).origin]);
    await waitUntil(async () => (await listJobs('--finished')).length === 1);
    const finishedJobs = await run(['queue', 'ls', '--finished', '--json']);
    expect(finishedJobs.stdout + finishedJobs.stderr).not.toContain('5ecre7');
    worker.stop.abort();
    expect(JSON.stringify(await worker.ended)).not.toContain('5ecre7');
    // A finished job is removed from the queue's data; the append-only file is rewritten later.
    expect(store.dump()).not.toContain('5ecre7');
  });

  it('a worker does not follow the redirect of a source URL to an origin outside its root', async () => {
    const internalServer = await FileServer.start(pseudoRandomBytes(1_000, 'internal'));
    const publicServer = await FileServer.start(pseudoRandomBytes(1_000, 'public'));
    publicServer.fault = () => ({
      respond: (response) => response.writeHead(302, { location: internalServer.url }).end(),
    });
    // The machine that queues the URL may follow the redirect.
    await runJson(['upload', publicServer.url, '--queue']);
    const countBefore = internalServer.requests.length;
    startWorker(['--root', new URL(publicServer.url).origin]);
    await waitUntil(async () => (await listJobs())[0]?.state === 'retrying');
    expect([(await listJobs())[0].error.code, internalServer.requests.length]).toEqual(['source_failed', countBefore]);
  });

  it('upload --queue replaces the expired signature of a queued URL, and the worker uploads it', async () => {
    const fileServer = await FileServer.start(pseudoRandomBytes(10_000, 'signed'));
    let accepted = 'one';
    fileServer.fault = ({ path }) =>
      path.includes(`X-Amz-Signature=${accepted}`)
        ? undefined
        : { respond: (response) => response.writeHead(403).end() };
    const signedUrl = (signature: string) => `${fileServer.url}?X-Amz-Signature=${signature}`;
    await runJson(['upload', signedUrl('one'), '--queue', '--yes']);
    accepted = 'two';
    startWorker(['--root', new URL(fileServer.url).origin]);
    await waitUntil(async () => (await listJobs())[0]?.state === 'failed');
    await runJson(['upload', signedUrl('two'), '--queue', '--yes']);
    await waitUntil(async () => (await listJobs('--finished')).length === 1);
  });

  it('upload --queue of a waiting file replaces the options that it was queued with', async () => {
    const path = createFile('said.md');
    await runJson(['upload', path, '--queue', '--description', 'first']);
    await runJson(['upload', path, '--queue', '--description', 'second']);
    startWorker();
    const [{ asset_uid }] = await runJson(['upload', path, '--queue', '--description', 'second', '--wait']);
    expect((await runJson(['assets', 'get', asset_uid]))[0].description).toBe('second');
  });

  it('two processes that queue the same failed files at the same time both exit with 0', async () => {
    const paths = Array.from({ length: 40 }, (_, n) => createFile(`twice-${n}.md`));
    const refusal = { error: { code: 'validation_failed', message: 'refused' } };
    const proxy = await FaultProxy.start(account().MEDIACTL_BASE_URL as string, ({ method }) =>
      method === 'POST' ? respondWith(422, refusal) : undefined,
    );
    const environment = { MEDIACTL_BASE_URL: proxy.url };
    await run(['upload', ...paths, '--queue'], { environment });
    const { stop, ended } = startWorker(['--transfers', '10'], { environment });
    await waitUntil(async () => (await listJobs()).every(({ state }: { state: string }) => state === 'failed'));
    stop.abort();
    await ended;
    const simultaneousRuns = [1, 2].map(() => {
      const otherCli = new Cli({ ...account(), ...environment, MEDIACTL_QUEUE: queue });
      return otherCli.run(['upload', ...paths, '--queue', '--jsonl']);
    });
    for (const { code, stderr } of await Promise.all(simultaneousRuns)) expect(code, stderr).toBe(0);
  });

  it('queue forget --finished exits with 2 without --yes, and with an id or --all', async () => {
    const path = createFile('kept.md');
    startWorker();
    await runJson(['upload', path, '--queue', '--wait']);
    const [{ id }] = await listJobs('--finished');
    for (const args of [[id, '--finished'], ['--finished', '--all'], ['--finished']]) {
      const { code } = await run(['queue', 'forget', ...args]);
      expect([args, code]).toEqual([args, 2]);
    }
    expect(await listJobs('--finished')).toHaveLength(1);
    await deleteFinishedJob(queue, id);
    expect((await runJson(['upload', path, '--queue']))[0].outcome).toBe('skipped');
    expect((await run(['queue', 'forget', id, '--yes'])).code).toBe(0);
  });

  it('queue ls exits with 0 and escapes control characters if the stored jobs are malformed', async () => {
    const path = createFile('odd.md');
    const [{ job_id: id }] = await runJson(['upload', path, '--queue']);
    const malformedFields: Record<string, string>[] = [
      { progress: '{"offset":"\\u001b[31mzz","worker":7,"error":{"exit_code":0}}', timestamp: 'abc' },
      { progress: '{"worker":{}}', returnvalue: '{"worker":5,"verified":"x","removed":7}' },
      { data: '{not json' },
    ];
    for (const fields of malformedFields) {
      await overwriteJobFields(queue, id, fields);
      for (const args of [
        ['queue', 'ls'],
        ['queue', 'ls', '--finished'],
      ])
        for (const terminalOptions of [{ tty: true, columns: 120 }, {}]) {
          const { code, stdout, stderr } = await run(args, terminalOptions);
          expect(code, stderr).toBe(0);
          expect(stdout).not.toContain('\u001b[31m');
        }
    }
  });

  it('queue ls exits with 10 if the queue server accepts the connection but does not respond', async () => {
    const { createServer } = await import('node:net');
    const silentServer = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => silentServer.once('listening', resolve));
    const { port } = silentServer.address() as { port: number };
    const { code, stderr } = await run(['queue', 'ls', '--queue', `redis://127.0.0.1:${port}`]);
    silentServer.close();
    expect([code, stderr]).toEqual([10, expect.stringContaining('no response within')]);
  });

  it('the queue server stores neither API key nor playback token', async () => {
    createFile('secret.md');
    startWorker();
    const [{ asset_uid }] = await runJson(['upload', '--flatten', media, '--queue', '--wait']);
    const { playback_token } = await runJson(['assets', 'player-data', asset_uid]);
    const dump = store.dump();
    expect(dump).toContain(asset_uid);
    for (const secret of [setup.sandbox.key, playback_token]) expect(dump).not.toContain(secret);
  });

  it('a worker creates an asset again and warns about the orphan if the first response was lost', async () => {
    const path = createFile('lost.md');
    const [{ job_id: id }] = await runJson(['upload', path, '--queue']);
    // The entry of a worker that crashed before it got the response to its creation.
    await storeLostCreation(queue, id, path);
    const worker = startWorker();
    await waitUntil(async () => (await listJobs('--finished')).length === 1);
    worker.stop.abort();
    expect((await worker.ended).stderr).toContain('named lost.md; mediactl uploads cleanup, to list it');
  });

  it('a worker for another service pauses, and fails no file', async () => {
    await runJson(['upload', createFile('foreign.md'), '--queue']);
    const other = setup.sandbox.url.replace('127.0.0.1', 'localhost');
    const { output } = startWorker([], { environment: { MEDIACTL_BASE_URL: other } });
    await waitUntil(() => output.stderr.includes('this worker is paused'));
    expect(output.stderr).toContain(`the queued files are for ${setup.sandbox.url}`);
    const [job] = await listJobs();
    expect([job.state, job.attempts]).toEqual(['waiting', 0]);
  });

  it('a worker leaves files for another service in the queue, and uploads its own', async () => {
    const other = { environment: { MEDIACTL_BASE_URL: setup.sandbox.url.replace('127.0.0.1', 'localhost') } };
    await run(['upload', createFile('foreign.md'), '--queue'], other);
    await runJson(['upload', createFile('own.md'), '--queue']);
    const own = startWorker();
    await waitUntil(async () => (await listJobs('--finished')).length === 1);
    await waitUntil(async () => (await listJobs())[0]?.error);
    const [job, ...others] = await listJobs();
    expect(others).toEqual([]);
    expect(job.state).not.toBe('failed');
    expect(recordedError(job.error)).toEqual(errorInTable('queue_service_mismatch'));
    own.stop.abort(); // it would take the file again and again, after longer and longer delays
    startWorker([], other);
    await waitUntil(async () => (await listJobs('--finished')).length === 2);
  });

  it('a worker fails a job that is not an upload, and uploads ls describes it so', async () => {
    const { Queue } = await import('bullmq');
    const { port } = new URL(store.address);
    const [, name = ''] = queue.split('#');
    const bullQueue = new Queue(name, { connection: { host: '127.0.0.1', port: Number(port) } });
    await bullQueue.add('x', { path: '\u001b[31mred', source: 7 }, { jobId: 'strange' });
    await bullQueue.close();
    startWorker();
    await waitUntil(async () => (await listJobs())[0]?.state === 'failed');
    const { stdout } = await run(['queue', 'ls'], { tty: true, columns: 400 });
    expect(stdout).not.toContain('\u001b[31mred');
    expect(stdout).toContain('a job that is not an upload');
  });

  it.each([
    [['upload', 'FILE', '--queue', 'redis://:secret@127.0.0.1'], 'would show the password'],
    [['queue', 'ls', '--queue', 'rediss://u:secret@127.0.0.1'], 'would show the password'],
    [['queue', 'work', '--queue', 'redis://u:secret@127.0.0.1/1'], 'would show the password'],
    [['config', 'set', 'queue', 'redis://:secret@127.0.0.1'], 'would show the password'],
    [['config', 'set', 'queue', 'ftp://127.0.0.1'], 'invalid queue URL'],
    [['upload', 'FILE', '--queue', '--transfers', '3'], 'add --transfers 3 to mediactl queue work'],
    [['upload', 'FILE', '--queue', '--limit-rate', '1MiB'], 'set it on each worker'],
    [['upload', 'FILE', '--queue', '--reserve-requests', '5'], 'set it on each worker'],
    [['upload', 'FILE', '--queue', '--stop-at', '06:00'], 'does not accept --stop-at'],
    [['queue', 'work', '--queue', 'queue.lan'], '--queue: invalid queue URL'],
    [['queue', 'work', '--queue', 'http://queue.lan'], '--queue: invalid queue URL'],
    [
      ['queue', 'work', '--queue', 'postgres://u:secret@127.0.0.1/x'],
      'redis://HOST or rediss://HOST of a Redis or Valkey server',
    ],
    [['upload', '-', '--queue', '--name', 'x'], 'stdin cannot be queued'],
    [['upload', 'rclone:archive:a.mov', '--queue'], 'cannot be queued'],
    [['queue', 'work', '--root', '/nowhere/at/all'], 'does not exist'],
    [['queue', 'work', '--lease', '10ms'], '--lease does not accept'],
    [['queue', 'work', '--transfers', '0'], '--transfers'],
    [['queue', 'retry'], 'specify upload ids or --all'],
    [['queue', 'retry', 'u1', '--all'], 'specify upload ids or --all'],
    [['queue', 'forget'], 'specify upload ids, --all or --finished'],
    [['queue', 'forget', '--all', '--older-than', '30d'], '--older-than works only with --finished'],
    [['queue', 'ls', '--queue', 'clip.mp4'], '--queue: invalid queue URL'],
  ])('mediactl exits with 2 and says why it rejects the arguments %j', async (args, message) => {
    const path = createFile('usage.md');
    const { code, stderr } = await run(args.map((word) => (word === 'FILE' ? path : word)));
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
    expect(stderr).not.toContain('secret@');
  });

  it('upload --queue exits with 2 if no queue is configured, and with 10 if it is unreachable', async () => {
    const path = createFile('nowhere.md');
    const withoutQueue = await run(['upload', path, '--queue'], { environment: { MEDIACTL_QUEUE: '' } });
    expect([withoutQueue.code, withoutQueue.stderr]).toEqual([2, expect.stringContaining('MEDIACTL_QUEUE')]);
    const unreachable = await run(['upload', path, '--queue', 'redis://127.0.0.1:1']);
    expect([unreachable.code, unreachable.stderr]).toEqual([10, expect.stringContaining('cannot reach the queue')]);
  });

  it('config set queue reads the URL from stdin, stores it with mode 0600, and no command prints its password', async () => {
    const cli = new Cli();
    const login = ['auth', 'login', '--base-url', setup.sandbox.url, '--with-key'];
    await cli.run(login, { stdin: setup.sandbox.key });
    const address = queue.replace('//', '//:a-secret@');
    const { code, stderr } = await cli.run(['config', 'set', 'queue', '-'], { stdin: `${address}\n` });
    expect([code, stderr]).toEqual([0, '']);
    expect(statSync(join(cli.home, 'config/config.json')).mode & 0o777).toBe(0o600);
    for (const args of [
      ['config', 'ls'],
      ['config', 'get', 'queue'],
      ['queue', 'ls'],
      ['queue', 'work', '-n'],
    ])
      expect(JSON.stringify(await cli.run(args))).not.toContain('a-secret');
    expect((await cli.run(['config', 'get', 'queue'])).stdout).toBe(`${queue}\n`);
  });

  it('queue ls reports the version of the queue server, refuses one that evicts, and warns of missing persistence', async () => {
    const list = (address: string) => run(['queue', 'ls', '--json'], { environment: { MEDIACTL_QUEUE: address } });
    expect((await list(queue)).stderr).toMatch(/\(redis \d[\d.]*\): 0 uploads remaining/);
    const evictingServer = await startRedis(['--maxmemory-policy', 'allkeys-lru']);
    expect(errorOf(await list(evictingServer.address))).toMatchObject({ code: 'queue_unusable' });
    await evictingServer.end();
    const volatileServer = await startRedis(['--appendonly', 'no']);
    const { code, stderr } = await list(volatileServer.address);
    expect([code, stderr]).toEqual([0, expect.stringContaining('AOF is off')]);
    const { stop, ended, output } = startWorker([], { environment: { MEDIACTL_QUEUE: volatileServer.address } });
    await waitUntil(async () => output.stderr.includes('AOF is off'));
    stop.abort();
    await ended;
    await volatileServer.end();
  });
});

async function withRedis<T>(
  queue: string,
  command: (client: import('ioredis').Redis, name: string) => Promise<T>,
): Promise<T> {
  const { Redis } = await import('ioredis');
  const [server = '', name = ''] = queue.split('#');
  const client = new Redis(server);
  try {
    return await command(client, name);
  } finally {
    client.disconnect();
  }
}

/** Overwrites fields of a job, as other tools may. */
const overwriteJobFields = (queue: string, id: string, fields: Record<string, string>) =>
  withRedis(queue, (client, name) => client.hset(`bull:${name}:${id}`, fields));
const deleteFinishedJob = (queue: string, id: string) =>
  withRedis(queue, async (client, name) => {
    await client.zrem(`bull:${name}:completed`, id);
    await client.del(`bull:${name}:${id}`);
  });

/** Writes the entry of a worker that crashed before it got the response to a creation. */
const storeLostCreation = (queue: string, id: string, path: string) =>
  withRedis(queue, (client, name) => {
    const entry = {
      state: 'intended',
      id,
      path,
      realPath: path,
      baseUrl: setup.sandbox.url,
      file: { sizeBytes: 11, mtimeNs: '1' },
      profile: 'none',
      begunAt: new Date().toISOString(),
      metadata: { filename: 'lost.md', workspace_uid: setup.sandbox.workspace },
    };
    return client.hset(`mediactl:${name}:entries`, id, JSON.stringify(entry));
  });
