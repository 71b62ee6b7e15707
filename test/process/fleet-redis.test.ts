import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FakeService } from '../support/fake-service.ts';
import { type Fault, FaultProxy, type ProxiedRequest, respondWith } from '../support/fault-proxy.ts';
import { writeRandomFile } from '../support/files.ts';
import { isFullRun } from '../support/full-run.ts';
import { has } from '../support/has.ts';
import { Machines, parseJsonLines, pause, waitForStderr, waitUntil } from '../support/machines.ts';
import { writeManyFiles } from '../support/many-files.ts';
import { openTestQueue } from '../support/queue-client.ts';
import { Random } from '../support/random.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { startSandbox, type TestSandbox } from '../support/sandbox.ts';
import { StoreProxy } from '../support/store-proxy.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/* Queue workers that crash, freeze, stop and lose their connection to the store. */

const MiB = 1024 * 1024;
const many = isFullRun ? 200 : 50;

/** Returns environments for faketime(1) whose clocks are the given seconds ahead; none without faketime. */
function clocksAheadBySeconds(...seconds: number[]): Record<string, string>[] {
  if (!has('faketime')) return [];
  const LD_PRELOAD = execFileSync('faketime', ['-f', '+0', 'printenv', 'LD_PRELOAD']).toString();
  return seconds.map((each) => ({ LD_PRELOAD: LD_PRELOAD.trim(), FAKETIME: `+${each}` }));
}

// Workers of these tests never use the fields that strict mode omits.
describe('queue', { tags: ['redis-server', 'undocumented-fields'] }, () => {
  let store: RedisServer;
  let sandbox: TestSandbox;
  beforeAll(async () => {
    [store, sandbox] = await Promise.all([startRedis(), startSandbox()]);
  });
  afterAll(() => Promise.all([store.end(), sandbox.end()]));

  const queue = () => `${store.address}#${Math.random().toString(36).slice(2)}`;

  /** Creates machines that reach the sandbox through a proxy, which injects faults. */
  async function throughFaultProxy(plan: (seen: ProxiedRequest) => Fault | undefined, folder = temporaryFolder()) {
    const line = await FaultProxy.start(sandbox.url, plan);
    const machines = new Machines(environmentOf(sandbox, line.url), queue(), folder);
    return { line, folder, machines };
  }

  /** Returns the digest of an asset's source file in the sandbox. */
  const stored = (uid: string) => digestOf(join(sandbox.dataDir, 'media', uid, 'source'));

  /** Lists the uids of assets with this name. */
  const assetsNamed = async (fleet: Machines, name: string): Promise<string[]> => {
    const found = await fleet.json(['assets', 'ls', name, '--all']);
    return found.map(({ uid }: { uid: string }) => uid);
  };

  it(`three workers that are killed repeatedly upload ${many} files once each and respect the rate limit`, async () => {
    const limit = { requests: 0.6 * many, windowMs: 2_000 };
    const service = await FakeService.start({ limit, latencyMs: 20 });
    const folder = join(temporaryFolder(), 'shots');
    const digests = writeManyFiles(folder, { count: many, bytes: 60_000 });
    const machines = new Machines(service.environment, queue(), folder);
    const workerArgs = ['--lease', '1s', '--max-crashes', '50'];
    const machine = { MEDIACTL_STATE_DIR: join(temporaryFolder(), 'state') };
    const workers = [1, 2, 3].map(() => machines.worker(workerArgs, machine));
    const pushed = machines.upload([folder], ['--wait']);
    let isDone = false;
    pushed.finished.then(() => {
      isDone = true;
    });
    // A client that ignores the rate limit gets some 429 responses; counts them by window.
    const otherClientRefusals = new Map<number, number>();
    const otherClient = (async () => {
      for (; !isDone; await pause(400)) {
        const { status, headers } = await fetch(`${service.url}/api/external/v1/assets/?limit=1`);
        const since = Number(headers.get('x-ratelimit-reset')) * 1000 - limit.windowMs;
        if (status === 429) otherClientRefusals.set(since, (otherClientRefusals.get(since) ?? 0) + 1);
      }
    })();
    const random = new Random(5);
    let kills = 0;
    while (kills < 4) {
      await waitUntil(() => isDone || service.completeAssets.length >= (many / 5) * (kills + 1));
      if (isDone) break;
      const at = random.below(workers.length);
      workers[at]?.child.kill('SIGKILL');
      kills++;
      workers[at] = machines.worker(workerArgs, machine);
    }
    await otherClient;
    const { code, stdout, stderr } = await pushed.finished;
    expect(code, stderr).toBe(0);
    expect(parseJsonLines(stdout)).toHaveLength(many);
    expect(kills).toBe(4);
    const whole = service.completeAssets.map(({ name, blake3 }) => [name, blake3]);
    expect(whole.sort()).toEqual([...digests].sort());
    const refusedByWindow = new Map(service.refusedByWindow);
    // A worker that is killed while it creates an asset leaves an empty one, which its machine can name.
    const listed: { asset_uid: string }[] = await machines.json(['uploads', 'cleanup'], machine);
    const named = listed.map(({ asset_uid }) => asset_uid);
    for (const { uid, completedAt } of service.assets.values()) if (!completedAt) expect(named).toContain(uid);
    // The other client uses up the reserve: each worker then needs one 429 to learn that the window is empty.
    for (const [since, refused] of refusedByWindow)
      expect(refused - (otherClientRefusals.get(since) ?? 0)).toBeLessThanOrEqual(workers.length);
    expect(service.grantedByWindow.size).toBeGreaterThan(3);
    expect(store.dump()).not.toContain(service.environment.MEDIACTL_API_KEY);
  }, 300_000);

  it('a worker resumes a file at the acknowledged offset after two workers were killed', async () => {
    const chunk = (isFullRun ? 5 : 2) * MiB;
    const size = 10 * chunk;
    const kills: number[] = [];
    let worker: ReturnType<Machines['worker']> | undefined;
    let sent = 0;
    const { folder, machines: fleet } = await throughFaultProxy(({ method, nth }) => {
      if (method !== 'PATCH') return undefined;
      let before = 0;
      return {
        onBytes: (passed) => {
          sent += passed - before;
          before = passed;
          if ((nth !== 4 && nth !== 8) || passed < MiB || kills.includes(nth)) return;
          kills.push(nth);
          worker?.child.kill('SIGKILL');
        },
      };
    });
    const path = join(folder, 'large.bin');
    writeRandomFile(path, { size, seed: 'large' });
    const args = ['--lease', '1s'];
    const pushed = fleet.upload([path], ['--wait', '--chunk-size', String(chunk)]);
    for (let round = 0; round < 3; round++) {
      worker = fleet.worker(args);
      if (round < 2) await worker.finished;
    }
    const { code, stdout, stderr } = await pushed.finished;
    expect([code, kills], stderr).toEqual([0, [4, 8]]);
    const [record] = parseJsonLines(stdout);
    expect(record).toMatchObject({ outcome: 'uploaded', size_bytes: size, verified: true });
    expect(record.resumed_from_bytes).toBeGreaterThan(6 * chunk);
    expect(record.resumed_from_bytes + record.bytes_sent).toBe(size);
    // Bytes in the socket buffer of a killed process may be sent twice.
    expect(sent - size).toBeLessThan(2 * chunk);
    expect(stored(record.asset_uid)).toBe(digestOf(path));
    expect(await assetsNamed(fleet, 'large')).toHaveLength(1);
  });

  it('SIGTERM returns a file to the queue, and another worker resumes it before the lease expires', async () => {
    let isHeld = true;
    const {
      line,
      folder,
      machines: fleet,
    } = await throughFaultProxy(({ method, nth }) =>
      method === 'PATCH' && nth === 2 && isHeld ? { respond: () => {} } : undefined,
    );
    const path = join(folder, 'handed.bin');
    writeRandomFile(path, { size: 3 * MiB, seed: 'handed' });
    const args = ['--lease', '10m'];
    const pushed = fleet.upload([path], ['--wait', '--chunk-size', '1MiB']);
    const first = fleet.worker(args);
    await waitUntil(() => line.methods.filter((method) => method === 'PATCH').length === 2);
    isHeld = false;
    const second = fleet.worker(args);
    first.child.kill('SIGTERM');
    const { code: ended, stderr: firstStderr, stdout: firstStdout } = await first.finished;
    expect([ended, firstStdout], firstStderr).toEqual([0, '']);
    expect(firstStderr).toContain('1 file returned to the queue');
    const { code, stdout, stderr } = await pushed.finished;
    expect(code, stderr).toBe(0);
    expect(parseJsonLines(stdout)[0]).toMatchObject({ resumed_from_bytes: MiB, verified: true });
    second.child.kill('SIGTERM');
    expect(await assetsNamed(fleet, 'handed')).toHaveLength(1);
  });

  it('a frozen worker whose file another worker has taken over sends and writes nothing when it wakes', async () => {
    let frozen: ReturnType<Machines['worker']> | undefined;
    let passed = 0;
    const {
      line,
      folder,
      machines: fleet,
    } = await throughFaultProxy(({ method, nth }) =>
      method === 'PATCH' && nth === 2
        ? {
            onBytes: (bytes) => {
              passed = bytes;
              if (bytes > 3 * MiB) frozen?.child.kill('SIGSTOP');
            },
          }
        : undefined,
    );
    const path = join(folder, 'frozen.bin');
    writeRandomFile(path, { size: 60 * MiB, seed: 'frozen' });
    frozen = fleet.worker(['--lease', '1s']);
    const pushed = fleet.upload([path], ['--wait', '--chunk-size', '20MiB']);
    await waitUntil(() => passed > 3 * MiB);
    await pause(500);
    const whenFrozen = passed;
    const other = fleet.worker(['--lease', '1s']);
    const { code, stdout, stderr } = await pushed.finished;
    expect(code, stderr).toBe(0);
    const [{ asset_uid }] = parseJsonLines(stdout);
    const before = { requests: line.requests.length, store: await listFinished(fleet) };
    frozen.child.kill('SIGCONT');
    await pause(1_500);
    expect(line.requests).toHaveLength(before.requests);
    // At most the buffer that was in flight when the worker froze.
    expect(passed - whenFrozen).toBeLessThanOrEqual(8 * MiB);
    frozen.child.kill('SIGTERM');
    other.child.kill('SIGTERM');
    const { stdout: frozenStdout } = await frozen.finished;
    expect(frozenStdout).toBe('');
    expect(await listFinished(fleet)).toEqual(before.store);
    expect(stored(asset_uid)).toBe(digestOf(path));
    expect(await assetsNamed(fleet, 'frozen')).toEqual([asset_uid]);
  });

  it('a file that crashes every worker fails, other files are uploaded, and a retry uploads it', async () => {
    const folder = temporaryFolder();
    const bad = join(folder, 'poison.bin');
    writeRandomFile(bad, { size: 1000, seed: 'poison' });
    for (const n of [1, 2, 3]) writeRandomFile(join(folder, `good ${n}.bin`), { size: 1000, seed: `${n}` });
    let isPoison = true;
    let worker: ReturnType<Machines['worker']> | undefined;
    const { machines: fleet } = await throughFaultProxy(({ method, headers }) => {
      const metadata = String(headers['upload-metadata']);
      const isBad = metadata.includes(Buffer.from('poison.bin').toString('base64'));
      return method === 'POST' && isPoison && isBad ? { respond: () => void worker?.child.kill('SIGKILL') } : undefined;
    }, folder);
    const args = ['--lease', '1s', '--max-crashes', '1', '--transfers', '1'];
    const pushed = fleet.upload([folder], ['--wait']);
    let deaths = 0;
    while (deaths < 2) {
      worker = fleet.worker(args);
      if ((await worker.finished).signal === 'SIGKILL') deaths++;
    }
    worker = fleet.worker(args);
    const { code, stdout, stderr } = await pushed.finished;
    expect(code, stderr).toBe(11);
    const outcomes = parseJsonLines(stdout).map(({ outcome, error }) => error?.code ?? outcome);
    expect(outcomes.sort()).toEqual(['attempts_exhausted', 'uploaded', 'uploaded', 'uploaded']);
    worker.child.kill('SIGTERM');
    await worker.finished;
    isPoison = false;
    const [{ id, crashes }] = await fleet.json(['queue', 'ls']);
    expect(crashes).toBeGreaterThan(1);
    await fleet.json(['queue', 'retry', id]);
    fleet.worker(args);
    const watched = await fleet.run(['queue', 'watch']).finished;
    expect(watched.code, watched.stderr).toBe(0);
    expect(await listFinished(fleet)).toHaveLength(4);
  });

  it('a worker whose API key is refused exits with 4, and another worker uploads the file', async () => {
    let isRefused = true;
    const { folder, machines: fleet } = await throughFaultProxy(({ method }) =>
      method === 'POST' && isRefused
        ? respondWith(401, { error: { code: 'unauthenticated', message: 'revoked' } })
        : undefined,
    );
    writeRandomFile(join(folder, 'key.bin'), { size: 1000, seed: 'key' });
    const pushed = fleet.upload([folder], ['--wait']);
    const bad = await fleet.worker().finished;
    expect([bad.code, bad.stdout], bad.stderr).toEqual([4, '']);
    isRefused = false;
    fleet.worker();
    const { code, stderr } = await pushed.finished;
    expect(code, stderr).toBe(0);
  });

  it('a full storage quota pauses the queue, no file fails, and queue retry resumes it', async () => {
    let isFull = true;
    const full = respondWith(507, { error: { code: 'storage', message: 'storage is used up' } });
    const { folder, machines: fleet } = await throughFaultProxy(({ method }) =>
      method === 'POST' && isFull ? full : undefined,
    );
    for (const n of [1, 2, 3, 4]) writeRandomFile(join(folder, `full ${n}.bin`), { size: 1000, seed: `${n}` });
    const pushed = fleet.upload([folder], ['--wait']);
    fleet.worker();
    const listed = async () => fleet.json(['queue', 'ls']);
    await waitUntil(async () => (await listed()).some(({ error }: { error: unknown }) => error));
    const states = async () => (await listed()).map(({ state }: { state: string }) => state);
    await expect.poll(states).toEqual(Array(4).fill('waiting'));
    const { stderr } = await fleet.run(['queue', 'ls']).finished;
    expect(stderr).toContain('the queue is paused');
    isFull = false;
    await fleet.json(['queue', 'retry', '--all']);
    expect((await pushed.finished).code).toBe(0);
  });

  it('a worker with a wrong directory or clock prints a warning before it takes a file and corrupts nothing', async () => {
    const service = await FakeService.start({ latencyMs: 20 });
    const base = temporaryFolder();
    const folderOf = (name: string) => join(base, name);
    const folder = folderOf('shots');
    const digests = writeManyFiles(folder, { count: 30 });
    for (const name of digests.keys()) utimesSync(join(folder, name), 1_700_000_000, 1_700_000_000);
    writeManyFiles(folderOf('stale'), { count: 30, bytes: 3_000 });
    mkdirSync(folderOf('unmounted'));
    writeFileSync(join(folderOf('unmounted'), '.DS_Store'), '');
    const fleet = new Machines(service.environment, queue(), folder);
    const enqueue = (args: string[] = []) =>
      fleet.run(['upload', '--flatten', folder, '--queue', '--root', `media=${folder}`, ...args]);
    expect((await enqueue().finished).code).toBe(0);
    const worker = (name: string, lease = '30s', clock = {}) => {
      const root = `media=${folderOf(name)}`;
      return fleet.run(['queue', 'work', '--jsonl', '--root', root, '--lease', lease], clock);
    };
    const wrongDirectories = ['stale', 'unmounted'].map((name) => worker(name, '1s'));
    await Promise.all(wrongDirectories.map((each) => waitForStderr(each, 'contains only 0 of 20 queued files')));
    // The disk is mounted: its worker continues on its own.
    cpSync(folder, folderOf('unmounted'), { recursive: true, preserveTimestamps: true });
    await waitUntil(() => service.completeAssets.length > 0);
    const wrongClocks = clocksAheadBySeconds(60, 600).map((clock) => worker('shots', '30s', clock));
    await Promise.all(wrongClocks.map((each) => waitForStderr(each, 'warning: this machine’s clock is ')));
    const right = [worker('shots'), worker('shots')];
    const { code, stderr } = await enqueue(['--wait']).finished;
    expect(code, stderr).toBe(0);
    const whole = service.completeAssets.map(({ name, blake3 }) => [name, blake3]);
    expect(whole.sort()).toEqual([...digests].sort());
    const all = [...wrongDirectories, ...wrongClocks, ...right];
    for (const { child } of all) child.kill('SIGTERM');
    const ended = await Promise.all(all.map(({ finished }) => finished));
    expect(ended.map((each) => each.code)).toEqual(all.map(() => 0));
    const ahead = ended.flatMap((each) => /is ([\d.]+) s ahead/.exec(each.stderr)?.[1] ?? []);
    expect(ahead.map((seconds) => Math.round(Number(seconds) / 60))).toEqual(wrongClocks.length > 0 ? [1, 10] : []);
    expect(ended[1]?.stderr).toContain('this worker has resumed');
    // The worker that stayed misconfigured uploaded nothing. A wrong clock does no harm: leases use Redis's clock.
    expect(ended[0]?.stdout).toBe('');
  });

  it('a file that one worker cannot find does not fail while a worker that can find it is busy', async () => {
    let isHeld = true;
    const held: (() => void)[] = [];
    const { folder, machines: fleet } = await throughFaultProxy(({ method }) =>
      method === 'PATCH' && isHeld
        ? { beforeResponse: () => new Promise<void>((resolve) => held.push(resolve)) }
        : undefined,
    );
    const wrong = temporaryFolder();
    writeRandomFile(join(wrong, 'other.bin'), { size: 10 });
    const named = (name: string) => join(folder, `${name}.bin`);
    const enqueue = (names: string[], args: string[] = []) =>
      fleet.run([
        ...['upload', ...names.map(named), '--jsonl', '--progress', 'none'],
        ...['--queue', '--root', `media=${folder}`, ...args],
      ]);
    for (const name of ['first', 'second']) writeRandomFile(named(name), { size: 1_000, seed: name });
    const worker = (root: string, ...args: string[]) =>
      fleet.run(['queue', 'work', '--root', `media=${root}`, '--transfers', '1', ...args]);
    const busy = enqueue(['first'], ['--wait']);
    worker(folder);
    await waitUntil(() => held.length > 0);
    const waited = enqueue(['second'], ['--wait']);
    worker(wrong, '--lease', '1s'); // it leaves the job for a fifth of its lease
    const left = async () =>
      (await fleet.json(['queue', 'ls'])).some(
        ({ attempts, state }: { attempts: number; state: string }) => attempts > 3 || state === 'failed', // a third miss would fail the job
      );
    await waitUntil(left);
    isHeld = false;
    for (const resume of held) resume();
    for (const { finished } of [busy, waited]) {
      const { code, stderr } = await finished;
      expect(code, stderr).toBe(0);
    }
  });

  it('workers with different roots on one queue get only the files below their own', async () => {
    const base = temporaryFolder();
    const fleet = new Machines(environmentOf(sandbox), queue(), base);
    const names = ['arch', 'media', 'rushes'];
    for (const name of names) {
      const root = ['--root', `${name}=${join(base, name)}`];
      await queueManyFiles(fleet, join(base, name), { count: 8, bytes: 1_000 + names.indexOf(name) }, root);
    }
    const rootsOf = [['arch'], ['media', 'rushes']];
    for (const [n, roots] of rootsOf.entries())
      fleet.run([
        'queue',
        'work',
        '--name',
        `w${n}`,
        ...roots.flatMap((name) => ['--root', `${name}=${join(base, name)}`]),
      ]);
    const watched = await fleet.run(['queue', 'watch']).finished;
    expect(watched.code, watched.stderr).toBe(0);
    const finished: { path: string; worker: string; attempts: number }[] = await listFinished(fleet);
    const seen = finished.map(({ path, worker, attempts }) => [path.split(':')[0], worker, attempts].join(' '));
    expect([...new Set(seen)].sort()).toEqual(['arch w0 1', 'media w1 1', 'rushes w1 1']);
    expect(seen).toHaveLength(24);
  });

  it('queue ls lists the oldest file first', async () => {
    const base = temporaryFolder();
    const fleet = new Machines(environmentOf(sandbox), queue(), base);
    await queueManyFiles(fleet, join(base, 'first'), { count: 3, bytes: 103 });
    await queueManyFiles(fleet, join(base, 'second'), { count: 300, bytes: 400 });
    const listed: { path: string }[] = await fleet.json(['queue', 'ls']);
    expect(listed.slice(0, 3).map(({ path }) => path.includes('/first/'))).toEqual([true, true, true]);
    expect(new Set(listed.map(({ path }) => path)).size).toBe(303);
    const [oldest] = await fleet.json(['queue', 'ls', '--limit', '1']);
    expect(oldest.path).toBe(listed[0]?.path);
  });

  it('a worker uploads its own files behind many files without a root name that it cannot read', async () => {
    const base = temporaryFolder();
    const fleet = new Machines(environmentOf(sandbox), queue(), base);
    await queueManyFiles(fleet, join(base, 'foreign'), { count: 120, bytes: 320 });
    await queueManyFiles(fleet, join(base, 'own'), { count: 3, bytes: 203 });
    const worker = fleet.run(['queue', 'work', '--jsonl', '--root', join(base, 'own')]);
    await waitUntil(async () => (await listFinished(fleet)).length === 3);
    const states: { state: string }[] = await fleet.json(['queue', 'ls']);
    expect(states.filter(({ state }) => state === 'failed')).toEqual([]);
    worker.child.kill('SIGTERM');
  });

  it('a worker pauses for an upload that a newer mediactl queued and leaves it in the queue', async () => {
    const address = queue();
    const folder = temporaryFolder();
    const fleet = new Machines(environmentOf(sandbox), address, folder);
    const opened = await openTestQueue(address);
    const queued = await opened.queueOf();
    const worker = fleet.worker(['--lease', '1s']);
    const messages = ['a newer version queued files', 'this worker has resumed'].map((words) =>
      waitForStderr(worker, words),
    );
    await queued.add('x', { version: 2, path: 'x' } as never, { jobId: 'ux', attempts: 10 });
    await messages[0];
    expect(await queued.getJobState('ux')).toBe('waiting');
    const [{ attemptsMade } = { attemptsMade: -1 }] = await queued.getJobs(['waiting']);
    expect(attemptsMade).toBe(0);
    await queued.remove('ux');
    await messages[1];
    writeRandomFile(join(folder, 'known.bin'), { size: 1_000 });
    expect((await fleet.upload([folder], ['--wait']).finished).code).toBe(0);
  });

  it('a worker exits with 0 on SIGTERM while its store is down', async () => {
    const { machines: fleet } = await throughFaultProxy(() => undefined);
    const worker = fleet.worker();
    await waitForStderr(worker, 'it reads files below');
    await store.kill();
    await pause(500);
    worker.child.kill('SIGTERM');
    const { code, stderr } = await worker.finished.finally(() => store.start());
    expect([code, stderr]).toEqual([0, expect.stringContaining('nothing was uploaded')]);
  });

  it('the queue loses and duplicates no file when its store is down twice for longer than the lease', async () => {
    const service = await FakeService.start({ latencyMs: 100 });
    const folder = join(temporaryFolder(), 'shots');
    const digests = writeManyFiles(folder, { count: 60, bytes: 20_000 });
    const machines = new Machines(service.environment, queue(), folder);
    const workers = [1, 2].map(() => machines.worker(['--lease', '1500ms']));
    const pushed = machines.upload([folder], ['--wait']);
    for (const uploadedShare of [0.2, 0.6]) {
      await waitUntil(() => service.completeAssets.length >= 60 * uploadedShare);
      await store.kill();
      await pause(3_000);
      await store.start();
    }
    const { code, stderr } = await pushed.finished;
    expect(code, stderr).toBe(0);
    const whole = service.completeAssets.map(({ name, blake3 }) => [name, blake3]);
    expect(whole.sort()).toEqual([...digests].sort());
    expect(workers.map((each) => each?.child.exitCode)).toEqual([null, null]);
  });

  it('a worker reopens a second connection that drops while it opens, and uploads a file', async () => {
    const cutIds = [2, 3];
    const proxy = await StoreProxy.start(queue(), (connection) => cutIds.includes(connection));
    const folder = temporaryFolder();
    const fleet = new Machines(environmentOf(sandbox), proxy.address, folder);
    const worker = fleet.worker();
    await waitUntil(() => proxy.connections > 3);
    const path = join(folder, 'second line.bin');
    writeRandomFile(path, { size: 1000, seed: 'second' });
    const { code, stderr } = await fleet.upload([path], ['--wait']).finished;
    expect(code, stderr).toBe(0);
    worker.child.kill('SIGTERM');
    expect((await worker.finished).code).toBe(0);
  });
});

const environmentOf = ({ key, url, workspace }: TestSandbox, baseUrl = url) => ({
  MEDIACTL_API_KEY: key,
  MEDIACTL_BASE_URL: baseUrl,
  MEDIACTL_WORKSPACE: workspace,
});

const digestOf = (path: string) =>
  existsSync(path) ? createHash('sha256').update(readFileSync(path)).digest('hex') : 'not there';

/** Lists the queue's files, finished ones included. */
const listFinished = (fleet: Machines) => fleet.json(['queue', 'ls', '--finished']);

/** Writes files to a directory and queues them. */
async function queueManyFiles(
  fleet: Machines,
  directory: string,
  files: { count: number; bytes: number },
  args: string[] = [],
): Promise<void> {
  writeManyFiles(directory, files);
  const { code, stderr } = await fleet.run(['upload', '--flatten', directory, '--queue', ...args]).finished;
  expect(code, stderr).toBe(0);
}
