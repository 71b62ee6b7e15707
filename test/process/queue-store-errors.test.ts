import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/shared/clock.ts';
import { Cli, type CliOptions, type CliResult } from '../support/cli.ts';
import { setUpCli } from '../support/cli-setup.ts';
import { errorInTable, errorOf, recordedError } from '../support/errors.ts';
import { FaultProxy, respondWith } from '../support/fault-proxy.ts';
import { waitUntil } from '../support/machines.ts';
import { type RedisServer, redisCli, startRedis } from '../support/redis-server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/* Error messages and recovery of queues whose store refuses access, is full, starts late or lost data. */

const { setup, account } = setUpCli();

let media: string;
const workers: { stop: AbortController; ended: Promise<CliResult> }[] = [];
beforeEach(() => {
  media = temporaryFolder();
  writeFileSync(join(media, 'stays.md'), '# a root that is empty is a disk that is not there');
});
afterEach(async () => {
  for (const { stop } of workers) stop.abort();
  await Promise.all(workers.splice(0).map(({ ended }) => ended));
});

const uniqueQueueUrl = (address: string) => `${address}#q${Math.random().toString(36).slice(2)}`;

/** Starts a worker; it stops when the test ends. */
const startWorker = (
  queue: string,
  more: Pick<CliOptions, 'environment' | 'clock'> & { cli?: Cli; args?: string[] } = {},
) => {
  const { cli = new Cli(account()), environment, clock, args: moreArgs = [] } = more;
  const stop = new AbortController();
  const worker = { stop, stderr: '', ended: undefined as unknown as Promise<CliResult> };
  const args = ['queue', 'work', '--root', media, '--jsonl', '--lease', '2s', ...moreArgs];
  worker.ended = cli.run(args, {
    environment: { MEDIACTL_QUEUE: queue, ...environment },
    clock,
    signal: stop.signal,
    onStderr: (text) => {
      worker.stderr = text;
    },
  });
  workers.push(worker);
  return worker;
};
const runCli = (queue: string, ...args: string[]) => setup.cli.run(args, { environment: { MEDIACTL_QUEUE: queue } });
const runJson = async (queue: string, ...args: string[]) => {
  const { code, stdout, stderr } = await runCli(queue, ...args, '--json');
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout);
};
const writeFiles = ({ count = 1, name = 'shot' }) =>
  Array.from({ length: count }, (_, n) => {
    const path = join(media, `${name} ${n}.md`);
    writeFileSync(path, `# ${name} ${n}`);
    return path;
  });
const listAssetsNamed = (name: string) => setup.cli.json(['assets', 'ls', name, '--all']);

describe('queue', { tags: 'redis-server' }, () => {
  let store: RedisServer;
  beforeAll(async () => {
    store = await startRedis();
  });
  afterAll(() => store.end());

  it('a worker whose Redis user lacks permissions exits with 4, and the suggested ACL rule works', async () => {
    redisCli(store, 'ACL', 'SETUSER', 'weak', 'on', '>pass', '~*', '&*', '+@all', '-eval', '-evalsha');
    const queue = uniqueQueueUrl(store.address.replace('//', '//weak:pass@'));
    const weakWorker = await startWorker(queue).ended;
    expect([weakWorker.code, weakWorker.stderr]).toEqual([4, expect.stringContaining('ACL SETUSER')]);
    const weakReader = await runCli(queue, 'queue', 'ls', '--json');
    expect(weakReader.code).toBe(4); // BullMQ reads with Lua scripts
    redisCli(store, 'ACL', 'SETUSER', 'reader', 'on', '>pass', '~*', '&*', '+@all', '-@write');
    const readerQueue = uniqueQueueUrl(store.address.replace('//', '//reader:pass@'));
    const { code: readerCode, stderr: readerWarnings } = await runCli(readerQueue, 'queue', 'ls');
    expect([readerCode, readerWarnings]).toEqual([0, expect.stringMatching(/lacks permissions .*ACL SETUSER/)]);
    const { error } = JSON.parse(weakReader.stderr);
    expect(error).toMatchObject({ code: 'queue_refused', cause: expect.stringContaining('eval') });
    const rule = /ACL SETUSER NAME (.*)$/.exec(error.hint)?.[1] ?? '';
    const aclWords = rule.replaceAll('"', '').split(' ');
    redisCli(store, 'ACL', 'SETUSER', 'strong', 'on', '>pass', ...aclWords);
    const strongQueue = uniqueQueueUrl(store.address.replace('//', '//strong:pass@'));
    const worker = startWorker(strongQueue);
    const [uploaded] = await runJson(strongQueue, 'upload', ...writeFiles({ count: 1 }), '--queue', '--wait');
    expect(uploaded.outcome).toBe('uploaded');
    // Rights may be revoked while a worker runs.
    redisCli(store, 'ACL', 'SETUSER', 'strong', '-evalsha');
    const { code, stderr } = await worker.ended;
    expect([code, stderr]).toEqual([4, expect.stringContaining('lacks permissions')]);
  });

  it('a worker on a Redis Cluster exits with 2 and suggests Redis without cluster mode', async () => {
    const cluster = await startRedis(['--cluster-enabled', 'yes']);
    const { code, stderr } = await startWorker(uniqueQueueUrl(cluster.address)).ended;
    const listing = await runCli(uniqueQueueUrl(cluster.address), 'queue', 'ls', '--json');
    await cluster.end();
    expect([code, stderr]).toEqual([2, expect.stringContaining('is a Redis Cluster')]);
    expect(recordedError(JSON.parse(listing.stderr).error)).toEqual({
      code: 'queue_unusable',
      exit: 2,
      hint: 'use Redis or Valkey without cluster mode; see docs/workers.md',
    });
  });

  it('a worker retries while Redis is full, queue ls warns of it, upload --queue exits with 10, and reads still work', async () => {
    const queue = uniqueQueueUrl(store.address);
    const worker = startWorker(queue);
    await waitUntil(() => worker.stderr.includes('it reads files below'));
    redisCli(store, 'CONFIG', 'SET', 'maxmemory', '1');
    await waitUntil(() => worker.stderr.includes('is full; retrying (OOM'));
    expect(worker.stderr).toContain('add memory or disk to the server');
    const listing = await runCli(queue, 'queue', 'ls', '--json');
    expect([listing.code, listing.stdout]).toEqual([0, '[]\n']);
    expect(listing.stderr).toMatch(/warning: the server of the queue .* is full \(OOM.*; try: add memory or disk/);
    const files = writeFiles({ name: 'full' });
    // Queuing fails at once, because a script would wait forever.
    expect(errorOf(await runCli(queue, 'upload', ...files, '--queue', '--json'))).toEqual(errorInTable('queue_full'));
    const lateWorker = startWorker(queue);
    await waitUntil(() => lateWorker.stderr.includes('is full'));
    redisCli(store, 'CONFIG', 'SET', 'maxmemory', '0');
    expect((await runJson(queue, 'upload', ...files, '--queue', '--wait'))[0].outcome).toBe('uploaded');
    await waitUntil(() => worker.stderr.includes('reconnected to queue'));
    // Reported once, however often BullMQ hit the error.
    expect(worker.stderr.split('OOM')).toHaveLength(2);
  });

  it('queue ls and a worker tell a replica from a full Redis', async () => {
    const queue = uniqueQueueUrl(store.address);
    const worker = startWorker(queue, { args: ['--metrics', '0'] });
    await waitUntil(() => worker.stderr.includes('it reads files below'));
    redisCli(store, 'REPLICAOF', '127.0.0.1', '1');
    await waitUntil(() => worker.stderr.includes('does not accept writes; retrying (READONLY'));
    const { hint } = errorInTable('queue_read_only');
    expect(worker.stderr).toContain(hint);
    const [origin] = /http:\/\/127\.0\.0\.1:\d+/.exec(worker.stderr) ?? [];
    const health = await (await fetch(`${origin}/healthz`)).json();
    expect(health).toMatchObject({ status: 'disconnected', code: 'queue_unreachable', hint });
    const { code, stderr } = await runCli(queue, 'queue', 'ls');
    redisCli(store, 'REPLICAOF', 'NO', 'ONE');
    expect([code, stderr]).toEqual([0, expect.stringMatching(/warning: .* does not accept writes \(READONLY/)]);
    await waitUntil(() => worker.stderr.includes('reconnected to queue'));
  });

  it('queue ls says that a queue is paused, why, and which errors its files have', async () => {
    const queue = uniqueQueueUrl(store.address);
    const proxy = await FaultProxy.start(setup.sandbox.url, ({ method }) =>
      method === 'POST' ? respondWith(507, { error: { code: 'storage', message: 'storage is used up' } }) : undefined,
    );
    const environment = { MEDIACTL_BASE_URL: proxy.url, MEDIACTL_QUEUE: queue };
    const named = ['--root', `media=${media}`];
    const files = writeFiles({ count: 3, name: 'paused' });
    await setup.cli.json(['upload', ...files, '--queue', ...named], { environment });
    const worker = startWorker(queue, { environment, args: named });
    await waitUntil(() => worker.stderr.includes('the queue is paused'));
    const { stderr } = await runCli(queue, 'queue', 'ls', '--json');
    expect(stderr).toMatch(/warning: the queue is paused: .*storage.*; to resume it: mediactl queue retry --all/);
  });

  it('queue ls and a worker warn of a clock that differs from the clock of the store', async () => {
    const queue = uniqueQueueUrl(store.address);
    const clockAhead = (aheadMs: number) => ({ ...systemClock, now: () => Date.now() + aheadMs });
    const warningOf = async (aheadMs: number) => {
      const worker = startWorker(queue, { clock: clockAhead(aheadMs) });
      await waitUntil(() => worker.stderr.includes('it reads files below'));
      worker.stop.abort();
      await worker.ended;
      const environment = { MEDIACTL_QUEUE: queue };
      const listing = await setup.cli.run(['queue', 'ls'], { environment, clock: clockAhead(aheadMs) });
      // What is measured is off by up to the time of a request.
      const inTens = (_: string, seconds: string) => `${10 * Math.round(Number(seconds) / 10)} s`;
      const [ofWorker, ofList] = [worker, listing].map(({ stderr }) =>
        /clock is .*? s (?:ahead of|behind) the clock of redis/.exec(stderr)?.[0].replace(/([\d.]+) s/, inTens),
      );
      expect(ofList).toBe(ofWorker);
      return ofWorker;
    };
    expect(await warningOf(0)).toBeUndefined();
    expect(await warningOf(60_000)).toBe('clock is 60 s ahead of the clock of redis');
    expect(await warningOf(-60_000)).toBe('clock is 60 s behind the clock of redis');
  });

  it('a worker that starts before Redis serves a health check and metrics that say so', async () => {
    const lateRedis = await startRedis();
    await lateRedis.kill();
    const worker = startWorker(uniqueQueueUrl(lateRedis.address), { args: ['--metrics', '0'] });
    await waitUntil(() => worker.stderr.includes('/metrics'));
    const [origin] = /http:\/\/127\.0\.0\.1:\d+/.exec(worker.stderr) ?? [];
    const response = await fetch(`${origin}/healthz`);
    expect([response.status, await response.json()]).toMatchObject([503, { status: 'starting' }]);
    expect(await (await fetch(`${origin}/metrics`)).text()).toContain('mediactl_queue_up 0');
    await lateRedis.start();
    await waitUntil(async () => (await fetch(`${origin}/healthz`)).status === 200);
    worker.stop.abort();
    await worker.ended;
    await lateRedis.end();
  });

  it('a worker that starts before Redis retries until it connects, and exits with 0 when it is stopped', async () => {
    const lateRedis = await startRedis();
    const queue = uniqueQueueUrl(lateRedis.address);
    await lateRedis.kill();
    const [worker, stoppedWorker] = [startWorker(queue), startWorker(queue)];
    for (const { stderr } of [worker, stoppedWorker]) expect(stderr).not.toContain('error');
    await waitUntil(() => worker.stderr.includes('cannot reach the queue'));
    expect(worker.stderr).toContain('ECONNREFUSED');
    await waitUntil(() => stoppedWorker.stderr.includes('; retrying'));
    stoppedWorker.stop.abort();
    expect((await stoppedWorker.ended).code).toBe(0);
    const listing = await runCli(queue, 'queue', 'ls');
    expect([listing.code, listing.stderr]).toEqual([10, expect.stringContaining('ECONNREFUSED')]);
    await lateRedis.start();
    expect((await runJson(queue, 'upload', ...writeFiles({ name: 'early' }), '--queue', '--wait'))[0]).toMatchObject({
      outcome: 'uploaded',
    });
    workers.find(({ stop }) => stop === worker.stop)?.stop.abort();
    await worker.ended;
    await lateRedis.end();
  });

  it('a failover to a replica that lacks the last results creates no duplicate assets', async () => {
    const [primary, replica] = await Promise.all([startRedis(), startRedis()]);
    const portOf = ({ address }: RedisServer) => Number(new URL(address).port);
    redisCli(replica, 'REPLICAOF', '127.0.0.1', String(portOf(primary)));
    await waitUntil(() => redisCli(replica, 'INFO', 'replication').includes('master_link_status:up'));
    let redisPort = portOf(primary);
    const openSockets = new Set<Socket>();
    const proxy = createServer((client) => {
      const upstream = connect(redisPort, '127.0.0.1');
      for (const socket of [client, upstream]) {
        openSockets.add(socket);
        socket.on('error', () => {}); // closed by the other end
        socket.on('close', () => [client, upstream].map((each) => each.destroy()));
      }
      client.pipe(upstream).pipe(client);
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => proxy.once('listening', resolve));
    const queue = uniqueQueueUrl(`redis://127.0.0.1:${(proxy.address() as { port: number }).port}`);
    await runJson(queue, 'upload', ...writeFiles({ count: 40, name: 'failover' }), '--queue');
    const replicaOffset = () => /master_repl_offset:(\d+)/.exec(redisCli(replica, 'INFO', 'replication'))?.[1];
    const primaryOffset = /master_repl_offset:(\d+)/.exec(redisCli(primary, 'INFO', 'replication'))?.[1];
    await waitUntil(() => Number(replicaOffset()) >= Number(primaryOffset));
    redisCli(replica, 'REPLICAOF', 'NO', 'ONE'); // from here on the replica lags behind
    const bothWorkers = [startWorker(queue), startWorker(queue)];
    const finishedCount = async () => (await runJson(queue, 'queue', 'ls', '--finished')).length;
    await waitUntil(async () => (await finishedCount()) === 40);
    redisPort = portOf(replica);
    await primary.end();
    for (const socket of openSockets) socket.destroy();
    for (const worker of bothWorkers) await waitUntil(() => worker.stderr.includes('reconnected to queue'));
    await waitUntil(async () => (await finishedCount()) === 40);
    expect(await listAssetsNamed('failover')).toHaveLength(40);
    for (const { stop } of bothWorkers) stop.abort();
    await Promise.all(bothWorkers.map(({ ended }) => ended));
    proxy.close();
    await replica.end();
  });

  it('a worker restores lost results of its uploads after a data loss, except those of deleted assets', {
    tags: 'undocumented-fields',
  }, async () => {
    const redisWithoutAof = await startRedis(['--appendonly', 'no']);
    const queue = uniqueQueueUrl(redisWithoutAof.address);
    const workerCli = new Cli(account());
    const uploadAndWait = async (...more: string[]) => {
      const [record] = await new Cli(account()).json(
        ['upload', join(media, 'kept 0.md'), '--queue', '--wait', ...more],
        { environment: { MEDIACTL_QUEUE: queue } },
      );
      return record.asset_uid;
    };
    writeFiles({ name: 'kept' });
    const firstWorker = startWorker(queue, { cli: workerCli });
    const assetUid = await uploadAndWait();
    firstWorker.stop.abort();
    await firstWorker.ended;
    redisCli(redisWithoutAof, 'FLUSHALL');
    const secondWorker = startWorker(queue, { cli: workerCli });
    expect(await uploadAndWait()).toBe(assetUid);
    expect(await uploadAndWait('--name', 'another')).not.toBe(assetUid);
    await setup.cli.json(['assets', 'rm', assetUid, '--yes']);
    redisCli(redisWithoutAof, 'FLUSHALL');
    expect(await uploadAndWait()).not.toBe(assetUid);
    secondWorker.stop.abort();
    await secondWorker.ended;
    await redisWithoutAof.end();
  });

  it('a job with invalid JSON is listed, fails, lets queue watch exit and can be forgotten', async () => {
    const queue = uniqueQueueUrl(store.address);
    const [{ job_id: id }] = await runJson(queue, 'upload', ...writeFiles({ name: 'json' }), '--queue');
    redisCli(store, 'HSET', `bull:${queue.split('#')[1]}:${id}`, 'data', '{not json');
    expect(await runJson(queue, 'queue', 'ls')).toMatchObject([{ id, state: 'waiting' }]);
    let warnings = '';
    const watching = setup.cli.run(['queue', 'watch'], {
      environment: { MEDIACTL_QUEUE: queue },
      onStderr: (text) => {
        warnings = text;
      },
    });
    await waitUntil(() => warnings.includes('no worker takes files')); // else the job could fail before it is watched
    startWorker(queue);
    expect((await watching).code).toBe(2);
    expect(await runJson(queue, 'queue', 'ls')).toMatchObject([
      { id, state: 'failed', error: { code: 'invalid_job' } },
    ]);
    await runJson(queue, 'queue', 'forget', id, '--yes');
    expect(await runJson(queue, 'queue', 'ls')).toEqual([]);
  });

  it('an untrusted certificate fails with queue_unreachable and suggests NODE_EXTRA_CA_CERTS', {
    tags: 'openssl',
  }, async () => {
    const folder = temporaryFolder();
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    const subject = ['-nodes', '-days', '2', '-subj', '/CN=127.0.0.1'];
    const args = ['req', '-x509', '-newkey', 'rsa:2048', '-keyout', key, '-out', cert, ...subject];
    execFileSync('openssl', args, { stdio: 'ignore' });
    const server = createTlsServer({ key: readFileSync(key), cert: readFileSync(cert) });
    server.on('tlsClientError', () => {}); // the client does not trust this server's certificate
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const { code, stderr } = await startWorker(`rediss://127.0.0.1:${port}`).ended;
    const listing = await runCli(`rediss://127.0.0.1:${port}`, 'queue', 'ls', '--json');
    server.close();
    expect(recordedError(JSON.parse(listing.stderr).error)).toEqual({
      code: 'queue_unreachable',
      exit: 10,
      hint: expect.stringMatching(
        /^check that the server accepts TLS on that port; for a private certificate authority, export NODE_EXTRA_CA_CERTS=ca\.pem/,
      ),
    });
    expect([code, stderr]).toEqual([10, expect.stringContaining('NODE_EXTRA_CA_CERTS')]);
    expect(stderr).toMatch(/self.signed certificate/);
  });
});

it.each(['worker/mediactl-worker', 'watch/mediactl-watch'])(
  'systemd-analyze accepts the example systemd unit %s',
  { tags: 'systemd-analyze' },
  (name) => {
    const path = fileURLToPath(new URL(`../../examples/${name}.service`, import.meta.url));
    const { status, stderr } = spawnSync('systemd-analyze', ['verify', path]);
    expect([status, stderr.toString()]).toEqual([0, '']);
  },
);
