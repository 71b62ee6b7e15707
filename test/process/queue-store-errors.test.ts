import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/contract/clock.ts';
import { Cli, type CliOptions, type CliResult } from '../support/cli.ts';
import { setUpCli } from '../support/cli-setup.ts';
import { errorInTable, recordedError } from '../support/errors.ts';
import { Interposer, respondWith } from '../support/interposer.ts';
import { waitUntil } from '../support/machines.ts';
import { postgres, redis, type StoreServer, startPgbouncer, startRedis, storeEnvironment } from '../support/stores.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/* Error messages and recovery of queues whose store refuses access, is full, starts late or lost data. */

const { setup, account } = setUpCli();

let media: string;
const working: { stop: AbortController; ended: Promise<CliResult> }[] = [];
beforeEach(() => {
  media = temporaryFolder();
  writeFileSync(join(media, 'stays.md'), '# a root that is empty is a disk that is not there');
});
afterEach(async () => {
  for (const { stop } of working) stop.abort();
  await Promise.all(working.splice(0).map(({ ended }) => ended));
});

const named = (address: string) => `${address}#q${Math.random().toString(36).slice(2)}`;

/** Starts a worker; it stops when the test ends. */
const work = (queue: string, more: { cli?: Cli; environment?: CliOptions['environment'] } = {}) => {
  const { cli = new Cli(account()), environment } = more;
  const stop = new AbortController();
  const worker = { stop, stderr: '', ended: undefined as unknown as Promise<CliResult> };
  const args = ['worker', '--root', media, '--jsonl', '--lease', '2s'];
  worker.ended = cli.run(args, {
    environment: { MEDIACTL_QUEUE: queue, ...environment },
    signal: stop.signal,
    onStderr: (text) => {
      worker.stderr = text;
    },
  });
  working.push(worker);
  return worker;
};
const run = (queue: string, ...args: string[]) => setup.cli.run(args, { environment: { MEDIACTL_QUEUE: queue } });
const json = async (queue: string, ...args: string[]) => {
  const { code, stdout, stderr } = await run(queue, ...args, '--json');
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout);
};
const doctor = async (queue: string) => {
  const { stdout } = await run(queue, 'doctor', '--json');
  return JSON.parse(stdout).find(({ check }: { check: string }) => check === 'queue');
};
const files = (count: number, name = 'shot') =>
  Array.from({ length: count }, (_, n) => {
    const path = join(media, `${name} ${n}.md`);
    writeFileSync(path, `# ${name} ${n}`);
    return path;
  });
const assetsNamed = (name: string) => setup.cli.json(['assets', 'ls', '--search', name, '--all']);

describe('queue on Redis', { tags: 'redis-server' }, () => {
  let store: StoreServer;
  beforeAll(async () => {
    store = await redis.start();
  });
  afterAll(() => store.end());
  const cli = ({ address }: StoreServer, ...words: string[]) =>
    execFileSync('redis-cli', ['-p', new URL(address).port, ...words], {
      env: storeEnvironment,
    }).toString();

  it('a worker whose Redis user lacks permissions exits with 4, and the suggested ACL rule works', async () => {
    cli(store, 'ACL', 'SETUSER', 'weak', 'on', '>pass', '~*', '&*', '+@all', '-eval', '-evalsha');
    const queue = named(store.address.replace('//', '//weak:pass@'));
    const refused = await work(queue).ended;
    expect([refused.code, refused.stderr]).toEqual([4, expect.stringContaining('ACL SETUSER')]);
    expect((await run(queue, 'uploads', 'ls', '--queue')).code).toBe(4); // BullMQ reads with Lua scripts
    cli(store, 'ACL', 'SETUSER', 'reader', 'on', '>pass', '~*', '&*', '+@all', '-@write');
    const read = named(store.address.replace('//', '//reader:pass@'));
    expect((await run(read, 'uploads', 'ls', '--queue')).code).toBe(0);
    const { error } = await doctor(queue);
    expect(error).toMatchObject({ code: 'queue_refused', cause: expect.stringContaining('eval') });
    const rule = /ACL SETUSER NAME (.*)$/.exec(error.hint)?.[1] ?? '';
    const words = rule.replaceAll('"', '').split(' ');
    cli(store, 'ACL', 'SETUSER', 'strong', 'on', '>pass', ...words);
    const own = named(store.address.replace('//', '//strong:pass@'));
    const worker = work(own);
    const [uploaded] = await json(own, 'upload', ...files(1), '--queue', '--wait');
    expect(uploaded.outcome).toBe('uploaded');
    // Rights may be revoked while a worker runs.
    cli(store, 'ACL', 'SETUSER', 'strong', '-evalsha');
    const { code, stderr } = await worker.ended;
    expect([code, stderr]).toEqual([4, expect.stringContaining('lacks permissions')]);
  });

  it('a worker on a Redis Cluster exits with 2 and suggests Redis without cluster mode', async () => {
    const cluster = await startRedis(['--cluster-enabled', 'yes']);
    const { code, stderr } = await work(named(cluster.address)).ended;
    const { error } = await doctor(named(cluster.address));
    await cluster.end();
    expect([code, stderr]).toEqual([2, expect.stringContaining('is a Redis Cluster')]);
    expect(recordedError(error)).toEqual({
      code: 'queue_unusable',
      exit: 2,
      hint: 'use Redis or Valkey without cluster mode; see docs/workers.md',
    });
  });

  it('a worker retries while Redis is full, doctor reports it, and reads still work', async () => {
    const queue = named(store.address);
    const worker = work(queue);
    await waitUntil(() => worker.stderr.includes('it reads files below'));
    cli(store, 'CONFIG', 'SET', 'maxmemory', '1');
    await waitUntil(() => worker.stderr.includes('does not accept writes; retrying (OOM'));
    const { error } = await doctor(queue);
    expect(recordedError(error)).toEqual(errorInTable('queue_full'));
    expect(error.retryable).toBe(true);
    expect((await run(queue, 'uploads', 'ls', '--queue')).code).toBe(0);
    const pushed = json(queue, 'upload', ...files(1, 'full'), '--queue', '--wait');
    const late = work(queue);
    await waitUntil(() => late.stderr.includes('does not accept writes'));
    cli(store, 'CONFIG', 'SET', 'maxmemory', '0');
    expect((await pushed)[0].outcome).toBe('uploaded');
    await waitUntil(() => worker.stderr.includes('reconnected to queue'));
    // Reported once, however often BullMQ hit the error.
    expect(worker.stderr.split('OOM')).toHaveLength(2);
  });

  it('doctor reports that a queue is paused and why', async () => {
    const queue = named(store.address);
    const line = await Interposer.start(setup.sandbox.url, ({ method }) =>
      method === 'POST' ? respondWith(507, { error: { code: 'storage', message: 'storage is used up' } }) : undefined,
    );
    const environment = { MEDIACTL_BASE_URL: line.url, MEDIACTL_QUEUE: queue };
    await setup.cli.json(['upload', ...files(3, 'paused'), '--queue'], { environment });
    const worker = work(queue, { environment });
    await waitUntil(() => worker.stderr.includes('the queue is paused'));
    const { error } = await doctor(queue);
    expect(recordedError(error)).toEqual({
      code: 'queue_paused',
      exit: 1,
      hint: 'mediactl uploads retry --all --queue',
    });
    expect(error.cause).toContain('storage');
    const { stdout } = await run(queue, 'doctor');
    expect(stdout).toContain('storage');
  });

  it('a worker that starts before Redis retries until it connects, and exits with 0 when it is stopped', async () => {
    const late = await startRedis();
    const queue = named(late.address);
    await late.kill();
    const [worker, stopped] = [work(queue), work(queue)];
    for (const { stderr } of [worker, stopped]) expect(stderr).not.toContain('error');
    await waitUntil(() => worker.stderr.includes('cannot reach the queue'));
    expect(worker.stderr).toContain('ECONNREFUSED');
    await waitUntil(() => stopped.stderr.includes('; retrying'));
    stopped.stop.abort();
    expect((await stopped.ended).code).toBe(0);
    const { stdout } = await run(queue, 'doctor');
    expect(stdout).toContain('ECONNREFUSED');
    await late.start();
    expect((await json(queue, 'upload', ...files(1, 'early'), '--queue', '--wait'))[0]).toMatchObject({
      outcome: 'uploaded',
    });
    working.find(({ stop }) => stop === worker.stop)?.stop.abort();
    await worker.ended;
    await late.end();
  });

  it('a failover to a replica that lacks the last results creates no duplicate assets', async () => {
    const [first, replica] = await Promise.all([startRedis(), startRedis()]);
    const portOf = ({ address }: StoreServer) => Number(new URL(address).port);
    cli(replica, 'REPLICAOF', '127.0.0.1', String(portOf(first)));
    await waitUntil(() => cli(replica, 'INFO', 'replication').includes('master_link_status:up'));
    let port = portOf(first);
    const open = new Set<Socket>();
    const line = createServer((client) => {
      const upstream = connect(port, '127.0.0.1');
      for (const socket of [client, upstream]) {
        open.add(socket);
        socket.on('error', () => {}); // closed by the other end
        socket.on('close', () => [client, upstream].map((each) => each.destroy()));
      }
      client.pipe(upstream).pipe(client);
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => line.once('listening', resolve));
    const queue = named(`redis://127.0.0.1:${(line.address() as { port: number }).port}`);
    await json(queue, 'upload', ...files(40, 'failover'), '--queue');
    const offset = () => /master_repl_offset:(\d+)/.exec(cli(replica, 'INFO', 'replication'))?.[1];
    const written = /master_repl_offset:(\d+)/.exec(cli(first, 'INFO', 'replication'))?.[1];
    await waitUntil(() => Number(offset()) >= Number(written));
    cli(replica, 'REPLICAOF', 'NO', 'ONE'); // from here on the replica lags behind
    const workers = [work(queue), work(queue)];
    const done = async () => (await json(queue, 'uploads', 'ls', '--queue', '--finished')).length;
    await waitUntil(async () => (await done()) === 40);
    port = portOf(replica);
    await first.end();
    for (const socket of open) socket.destroy();
    for (const worker of workers) await waitUntil(() => worker.stderr.includes('reconnected to queue'));
    await waitUntil(async () => (await done()) === 40);
    expect(await assetsNamed('failover')).toHaveLength(40);
    for (const { stop } of workers) stop.abort();
    await Promise.all(workers.map(({ ended }) => ended));
    line.close();
    await replica.end();
  });

  it('a worker restores lost results of its uploads after a data loss, except those of deleted assets', async () => {
    const forgetful = await startRedis(['--appendonly', 'no']);
    const queue = named(forgetful.address);
    const station = new Cli(account());
    const push = async (...more: string[]) => {
      const [record] = await new Cli(account()).json(
        ['upload', join(media, 'kept 0.md'), '--queue', '--wait', ...more],
        { environment: { MEDIACTL_QUEUE: queue } },
      );
      return record.asset_uid;
    };
    files(1, 'kept');
    const first = work(queue, { cli: station });
    const before = await push();
    first.stop.abort();
    await first.ended;
    cli(forgetful, 'FLUSHALL');
    const second = work(queue, { cli: station });
    expect(await push()).toBe(before);
    expect(await push('--name', 'another')).not.toBe(before);
    await setup.cli.json(['assets', 'rm', before, '--yes']);
    cli(forgetful, 'FLUSHALL');
    expect(await push()).not.toBe(before);
    second.stop.abort();
    await second.ended;
    await forgetful.end();
  });

  it('a job with invalid JSON is listed, fails, lets uploads watch exit and can be forgotten', async () => {
    const queue = named(store.address);
    const [{ job_id: id }] = await json(queue, 'upload', ...files(1, 'json'), '--queue');
    cli(store, 'HSET', `bull:${queue.split('#')[1]}:${id}`, 'data', '{not json');
    expect(await json(queue, 'uploads', 'ls', '--queue')).toMatchObject([{ id, state: 'waiting' }]);
    work(queue);
    const { code } = await run(queue, 'uploads', 'watch', '--queue');
    expect(code).toBe(2);
    expect(await json(queue, 'uploads', 'ls', '--queue')).toMatchObject([
      { id, state: 'failed', error: { code: 'invalid_job' } },
    ]);
    await json(queue, 'uploads', 'forget', id, '--queue', '--yes');
    expect(await json(queue, 'uploads', 'ls', '--queue')).toEqual([]);
  });

  it('an untrusted certificate fails with queue_tls and suggests NODE_EXTRA_CA_CERTS', {
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
    const { code, stderr } = await work(`rediss://127.0.0.1:${port}`).ended;
    const { error } = await doctor(`rediss://127.0.0.1:${port}`);
    server.close();
    expect(recordedError(error)).toEqual({
      code: 'queue_tls',
      exit: 10,
      hint: expect.stringMatching(
        /^check that the server accepts TLS on that port; for a private certificate authority, export NODE_EXTRA_CA_CERTS=ca\.pem/,
      ),
    });
    expect([code, stderr]).toEqual([10, expect.stringContaining('NODE_EXTRA_CA_CERTS')]);
    expect(stderr).toMatch(/self.signed certificate/);
  });
});

describe('queue on PostgreSQL', { tags: 'postgresql' }, () => {
  let store: StoreServer;
  beforeAll(async () => {
    store = await postgres.start();
    const first = new Cli({ ...account(), MEDIACTL_QUEUE: store.address });
    await first.run(['uploads', 'ls', '--queue']); // creates the tables
  });
  afterAll(() => store.end());
  const sql = async (text: string) => {
    const { Client } = await import('pg');
    const client = new Client(store.address);
    await client.connect();
    await client.query(text).finally(() => client.end());
  };

  it('a worker whose PostgreSQL role lacks permissions exits with 4, and the suggested grants work', async () => {
    await sql('create role "station" login');
    const queue = named(store.address.replace('tester', 'station'));
    const { code, stderr } = await work(queue).ended;
    expect([code, stderr]).toEqual([4, expect.stringContaining('role station lacks permissions')]);
    await sql('grant usage on schema bullmq, mediactl to station');
    await sql('grant select on all tables in schema bullmq, mediactl to station');
    const { error } = await doctor(queue);
    expect(error).toMatchObject({
      code: 'queue_refused',
      exit_code: 4,
      cause: expect.stringContaining('permission denied for table'),
    });
    for (const grant of error.hint.replace(/^.*: (?=grant)/, '').split('; ')) await sql(grant);
    const worker = work(queue);
    const [uploaded] = await json(queue, 'upload', ...files(1, 'role'), '--queue', '--wait');
    expect(uploaded.outcome).toBe('uploaded');
    await sql('revoke update on all tables in schema bullmq from station');
    expect((await worker.ended).code).toBe(4);
  });

  it('doctor reports a clock that differs from the clock of PostgreSQL', async () => {
    const queue = named(store.address);
    const clockLine = async (aheadMs: number) => {
      const clock = { ...systemClock, now: () => Date.now() + aheadMs };
      const ran = await setup.cli.run(['doctor', '--json'], { environment: { MEDIACTL_QUEUE: queue }, clock });
      return JSON.parse(ran.stdout).find(({ check }: { check: string }) => check === 'clock');
    };
    expect(await clockLine(0)).toMatchObject({ status: 'passed', detail: expect.stringMatching(/s from the queue$/) });
    expect(recordedError((await clockLine(60_000)).error)).toEqual({
      code: 'clock_skew',
      exit: 2,
      hint: 'synchronize both clocks with NTP; a worker on this machine pauses until then',
    });
  });

  it('a worker reports that PostgreSQL has no TLS and hides the sslmode warning of pg', async () => {
    const warned: string[] = [];
    const onWarning = ({ message }: Error) => void warned.push(message);
    process.on('warning', onWarning);
    const { code, stderr } = await work(`${store.address}?sslmode=require`).ended;
    process.off('warning', onWarning);
    expect([code, stderr, warned]).toEqual([10, expect.stringContaining('accepts TLS'), []]);
  });

  it('a worker supports pgbouncer in session mode and names the setting that transaction mode needs', {
    tags: 'pgbouncer',
  }, async () => {
    const upload = async (address: string, name: string) => {
      const queue = named(address);
      const worker = work(queue);
      await json(queue, 'upload', ...files(1, name), '--queue');
      const done = () => json(queue, 'uploads', 'ls', '--queue', '--finished');
      await waitUntil(async () => (await done()).length === 1);
      worker.stop.abort();
      return (await worker.ended).code;
    };
    const sessions = await startPgbouncer(store.address, 'session');
    expect(await upload(sessions.address, 'session')).toBe(0);
    await sessions.end();
    const transactions = await startPgbouncer(store.address, 'transaction');
    const { code, stderr } = await work(named(transactions.address)).ended;
    await transactions.end();
    expect([code, stderr]).toEqual([2, expect.stringContaining('pool_mode=session')]);
    const setting = /connect_query='[^']+'/.exec(stderr)?.[0];
    const prepared = await startPgbouncer(store.address, 'transaction', setting);
    expect(await upload(prepared.address, 'prepared')).toBe(0);
    await prepared.end();
  });
});

it('systemd-analyze accepts the example systemd unit', { tags: 'systemd-analyze' }, () => {
  const path = fileURLToPath(new URL('../../examples/worker/mediactl-worker.service', import.meta.url));
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', path]);
  expect([status, stderr.toString()]).toEqual([0, '']);
});
