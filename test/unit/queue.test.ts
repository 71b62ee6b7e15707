import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { causeOf, type ErrorCode, type Subcode } from '../../src/client/error-table.ts';
import { CodedError } from '../../src/client/errors.ts';
import { OwnFiles } from '../../src/client/own-files.ts';
import type { UploadSource } from '../../src/client/upload/sources/source.ts';
import { classifyFailure } from '../../src/queue/failure-class.ts';
import { parseFailure } from '../../src/queue/jobs.ts';
import { Lease } from '../../src/queue/lease.ts';
import { openQueueClient } from '../../src/queue/open-queue-client.ts';
import { parseQueueAddress } from '../../src/queue/queue-address.ts';
import type { QueueClient } from '../../src/queue/queue-client.ts';
import { Roots } from '../../src/queue/roots.ts';
import { parseTask, taskId, type UploadTask } from '../../src/queue/task.ts';
import { WorkerHealth } from '../../src/queue/worker-health.ts';
import { systemClock } from '../../src/shared/clock.ts';
import { errorInTable, seenError } from '../support/errors.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** Returns the error that `work` throws. */
function failureOf(work: () => unknown) {
  try {
    work();
  } catch (error) {
    return seenError(error as CodedError);
  }
  throw new Error('nothing was thrown');
}

const createTask = (more: Partial<UploadTask> = {}): UploadTask => ({
  version: 1,
  service: 'https://media.example.com',
  path: '/m/a.mov',
  sizeBytes: 5,
  source: { path: '/m/a.mov' },
  fileVersion: '1700000000000000000',
  workspace: 'w',
  filename: 'a.mov',
  chunkBytes: 10,
  requireChecksum: false,
  ...more,
});

describe('queue URLs', () => {
  it.each([
    ['redis://queue.lan', 'mediactl', 'redis://queue.lan', false],
    ['redis://me@queue.lan', 'mediactl', 'redis://queue.lan', false],
    ['rediss://u:secret@queue.lan:6380/2#days', 'days', 'rediss://queue.lan:6380/2#days', true],
  ])('parses the queue URL %s', (text, name, label, hasPassword) => {
    expect(parseQueueAddress('--queue', text)).toMatchObject({ name, label, hasPassword });
  });

  it.each([
    'clip.mp4',
    'http://queue',
    'redisql://q',
    'redis://q#a:b',
    'redis://q#a b',
    ...['redis://q/abc', 'redis://q?db=3', 'redis://q?sentinelPassword=secret', 'redis:foo'],
    ...['redis://q#%E0', 'redis://u:s3cr%E0t@q'],
  ])('rejects %s as a queue URL', (text) => {
    expect(() => parseQueueAddress('--queue', text)).toThrow(/^--queue: invalid queue (?:URL|name)/);
  });

  it.each(['postgres://me@db/media', 'postgresql://db/media', 'amqp://queue.lan'])(
    'rejects the URL %s of another store, and names the stores that a queue can have',
    (text) => {
      expect(failureOf(() => parseQueueAddress('--queue', text))).toEqual({
        code: 'usage',
        exit: 2,
        hint: 'use redis://HOST or rediss://HOST of a Redis or Valkey server; append #NAME to name one of several queues',
      });
    },
  );
});

describe('failure classification', () => {
  const failureWith = (cause: ErrorCode | Subcode, { retryable = false } = {}) =>
    new CodedError('unknown error', { ...causeOf(cause), retryable });
  it.each([
    [failureWith('unauthenticated'), 'workerFault'],
    [failureWith('forbidden'), 'workerFault'],
    [failureWith('queue_unusable'), 'workerFault'],
    [failureWith('root_unusable'), 'pauseWorker'],
    [failureWith('unsupported_job'), 'pauseWorker'],
    [failureWith('tls_failed'), 'workerFault'],
    [failureWith('proxy_failed'), 'workerFault'],
    [failureWith('proxy_failed', { retryable: true }), 'retry'],
    [failureWith('origin_mismatch'), 'workerFault'],
    [failureWith('credits_depleted'), 'pauseQueue'],
    [failureWith('unreachable'), 'retry'],
    [failureWith('connection_refused'), 'retry'],
    [failureWith('rate_limited'), 'retry'],
    [failureWith('unclassified'), 'retry'],
    [failureWith('conflict', { retryable: true }), 'retry'],
    [failureWith('file_unusable'), 'retryElsewhere'],
    [failureWith('queue_service_mismatch'), 'foreign'],
    [failureWith('unreadable_file'), 'retry'],
    [failureWith('outside_roots', { retryable: true }), 'foreign'],
    [failureWith('file_gone'), 'retryElsewhere'],
    [failureWith('not_a_file'), 'permanent'],
    [failureWith('source_failed'), 'retry'],
    [failureWith('source_forbidden'), 'permanent'],
    [failureWith('root_mismatch'), 'pauseWorker'],
    [failureWith('queue_tls'), 'retry'],
    [failureWith('conflict'), 'permanent'],
    [failureWith('file_changed'), 'retryElsewhere'],
    [failureWith('not_found'), 'permanent'],
    [failureWith('worker_paused'), 'requeue'],
    [failureWith('terminated'), 'requeue'],
    [failureWith('interrupted'), 'requeue'],
    [failureWith('taken_over'), 'leaseLost'],
  ])(
    'a failure with the code $0.explanation.code, of the subcode $0.explanation.subcode (retryable: $0.explanation.retryable), is classified as $1',
    (error, failureClass) => {
      expect(classifyFailure(error)).toBe(failureClass);
    },
  );

  it('a failure is unchanged after serialization to JSON and back', () => {
    const error = failureWith('queue_full', { retryable: true }).with({
      reason: 'all is full',
      hint: 'delete some',
      status: 507,
      details: { free: 0 },
    });
    expect(parseFailure(JSON.stringify(error.toJSON())).toJSON()).toEqual(error.toJSON());
    expect(error.toJSON()).toMatchObject({ code: 'queue_unreachable', subcode: 'queue_full' });
  });

  it('a serialized failure with an unknown code and invalid fields is unclassified', () => {
    const serialized = { code: 'x', message: 'm', cause: {}, hint: 7, remedy: 'x', http_status: 'x' };
    const error = parseFailure(JSON.stringify(serialized));
    expect(error.kind).toBe('unclassified');
    expect(error.toJSON()).toMatchObject({ message: 'm', cause: null, hint: null, remedy: null, http_status: null });
  });

  it.each([[['toString']], [['of_a_newer_version', 'x']]])(
    'a serialized failure with the unknown remedy %j has the hint of its code',
    (remedy) => {
      const error = parseFailure(
        JSON.stringify({ code: 'queue_unreachable', subcode: 'queue_tls', message: 'm', remedy }),
      );
      expect(seenError(error)).toEqual(errorInTable('queue_tls'));
    },
  );

  it.each(['null', '{}', '[]', '{"message":1}', 'job stalled more than allowable limit', ''])(
    'the unrecognized failure text %j is read as an unclassified error',
    (failureText) => {
      expect(parseFailure(failureText).kind).toBe('unclassified');
    },
  );

  it('the text of a stalled job is read as attempts_exhausted, and any other text as unclassified', () => {
    const errorOfText = (text: string) => seenError(parseFailure(text));
    expect(errorOfText('job stalled more than allowable limit')).toEqual(errorInTable('attempts_exhausted'));
    expect(errorOfText('out of words')).toEqual(errorInTable('unclassified'));
  });
});

describe('queue jobs', () => {
  it('a job ID depends only on the file and its destination, and is not a number', () => {
    const idOfTask = (more: Partial<UploadTask> = {}, path = '/m/a.mov') => taskId(createTask(more), { path });
    expect(idOfTask()).toBe(idOfTask({ name: 'n', description: 'another', chunkBytes: 99 }));
    const idsOfOtherTasks = [
      ...[idOfTask({ sizeBytes: 6 }), idOfTask({ fileVersion: '17' }), idOfTask({ workspace: 'v' })],
      ...[idOfTask({ folder: 'f' }), idOfTask({ service: 'https://b' }), idOfTask({}, '/m/b.mov')],
      ...[idOfTask({ forceId: 'x' }), taskId(createTask(), { root: 'm', path: '/m/a.mov' })],
    ];
    expect(new Set([idOfTask(), ...idsOfOtherTasks]).size).toBe(idsOfOtherTasks.length + 1);
    expect(idOfTask()).toMatch(/^u[0-9a-f]{32}$/);
  });

  it.each([
    ...[null, 'text', {}, { ...createTask(), version: 0 }, { ...createTask(), source: null }],
    ...[
      { ...createTask(), source: { path: 1 } },
      { ...createTask(), sizeBytes: -1 },
      { ...createTask(), tags: [1] },
      { ...createTask(), tags: ['Summer'] },
    ],
    ...[
      { ...createTask(), chunkBytes: 0 },
      { ...createTask(), folder: 7 },
    ],
  ])('parsing a job fails if a field of its payload is invalid (row %#)', (data) => {
    expect(failureOf(() => parseTask(data))).toEqual(errorInTable('invalid_job'));
  });

  it('a job with a later format version is reported as unsupported', () => {
    for (const data of [{ ...createTask(), version: 2 }, { version: 3 }])
      expect(failureOf(() => parseTask(data))).toEqual(errorInTable('unsupported_job'));
  });
});

describe('roots', () => {
  const folder = temporaryFolder();
  const noOwnFiles = new OwnFiles({});
  const rejectOpeningUrl = async (): Promise<UploadSource> => {
    throw new Error('the URL was opened');
  };
  beforeAll(() => {
    for (const each of ['media/day 1', 'secret', 'empty']) mkdirSync(join(folder, each), { recursive: true });
    for (const each of ['media/day 1/a.mov', 'secret/key']) writeFileSync(join(folder, each), each);
    symlinkSync(join(folder, 'secret/key'), join(folder, 'media/link.mov'));
    symlinkSync(join(folder, 'media/day 1'), join(folder, 'media/today'));
  });

  it('a named root finds a file below a different mount point', async () => {
    const senderRoots = await Roots.open([`m=${folder}/media`], '/');
    const source = senderRoots.toTaskSource(join(folder, 'media/day 1/a.mov'));
    expect(source).toEqual({ root: 'm', path: 'day 1/a.mov' });
    const workerRoots = await Roots.open(['m=media'], folder);
    const opened = await workerRoots.open(source, rejectOpeningUrl, noOwnFiles);
    expect(opened.sizeBytes).toBe('media/day 1/a.mov'.length);
    await opened.close();
  });

  it.each([
    [{ path: '/etc/passwd' }],
    [{ path: 'media/day 1/a.mov' }],
    [{ path: 'FOLDER/media/../secret/key' }],
    [{ path: 'FOLDER/secret/key' }],
    [{ path: 'FOLDER/media/link.mov' }],
    [{ path: 'FOLDER/media' }],
    [{ root: 'm', path: '../secret/key' }],
    [{ root: 'm', path: '/etc/passwd' }],
    [{ root: 'other', path: 'a.mov' }],
    [{ path: 'http://169.254.169.254/latest/meta-data' }],
    [{ path: 'https://files.example.com/public-not/a.mov' }],
    [{ path: 'https://files.example.com/public/..%2fprivate%2fa.mov' }],
    [{ path: 'https://files.example.com/public/..%5Cprivate' }],
    [{ path: 'https://files.example.com/public/../private/a.mov' }],
    [{ path: 'https://files.example.com.evil.test/public/a.mov' }],
    [{ path: 'https://user@other.test/public/a.mov' }],
  ])('refuses to open a source outside the roots: %o', async (source) => {
    const roots = await Roots.open([`${folder}/media`, 'm=media', 'https://files.example.com/public'], folder);
    const sourceInFolder = { ...source, path: source.path.replace('FOLDER', folder) };
    expect(await roots.open(sourceInFolder, rejectOpeningUrl, noOwnFiles).catch(seenError)).toEqual(
      errorInTable('outside_roots'),
    );
  });

  it('a URL below a root URL is opened, and a symbolic link within a root is followed', async () => {
    const roots = await Roots.open([`${folder}/media`, 'https://files.example.com/public'], folder);
    const opening = roots.open({ path: 'https://files.example.com/public/a.mov?sig=1' }, rejectOpeningUrl, noOwnFiles);
    await expect(opening).rejects.toThrow('the URL was opened');
    const linkedSource = await roots.open({ path: `${folder}/media/today/a.mov` }, rejectOpeningUrl, noOwnFiles);
    await linkedSource.close();
  });

  it("refuses to open files of the worker's own state folder, also by a link", async () => {
    const own = new OwnFiles({ config: join(folder, 'none'), state: join(folder, 'media/day 1') });
    const roots = await Roots.open([`m=${folder}/media`], folder);
    for (const path of ['day 1/a.mov', 'today/a.mov'])
      expect(await roots.open({ root: 'm', path }, rejectOpeningUrl, own).catch(seenError)).toMatchObject({
        code: 'usage',
        hint: 'use another file',
      });
  });

  it('a missing file fails with file_unusable, or with root_unusable if its root directory is empty', async () => {
    const roots = await Roots.open([`${folder}/media`, `${folder}/empty`], folder);
    const openMissingFile = (path: string) =>
      roots.open({ path: `${folder}/${path}` }, rejectOpeningUrl, noOwnFiles).catch(seenError);
    expect(await openMissingFile('media/b.mov')).toMatchObject({ code: 'file_unusable' });
    expect(await openMissingFile('empty/b.mov')).toEqual(errorInTable('root_unusable'));
  });

  it('a root that lacks more than half of the queued files is reported as the wrong directory', async () => {
    const roots = await Roots.open([`m=${folder}/media`], folder);
    const queuedTasks = ['day 1/a.mov', 'b.mov', 'c.mov'].map((path) => createTask({ source: { root: 'm', path } }));
    expect(await roots.assertFilesExist(queuedTasks).catch(seenError)).toEqual({
      code: 'root_unusable',
      exit: 2,
      hint: expect.stringMatching(
        /^mount the disk, or start the worker with another --root; if the files were deleted: /,
      ),
    });
  });

  it('a root that does not exist or is given twice is rejected at startup', async () => {
    await expect(Roots.open(['nowhere'], folder)).rejects.toThrow('directory nowhere does not exist');
    const file = 'media/day 1/a.mov';
    await expect(Roots.open([file], folder)).rejects.toThrow(`directory ${file} does not exist`);
    await expect(Roots.open(['m=media', 'm=secret'], folder)).rejects.toThrow('given twice');
  });
});

describe('leases', () => {
  const clockReading = (state: { now: number }) => ({ ...systemClock, now: () => state.now });

  it('a lease that is not renewed in time expires and cannot be renewed afterwards', () => {
    const clockState = { now: 1_000 };
    const lease = new Lease(clockReading(clockState), 5_000, 'a.mov');
    clockState.now += 4_999;
    lease.assertHeld();
    lease.renew();
    clockState.now += 4_999;
    lease.assertHeld();
    clockState.now += 1;
    expect(failureOf(() => lease.assertHeld())).toEqual(errorInTable('taken_over'));
    expect(lease.signal.aborted).toBe(true);
    lease.renew();
    expect(() => lease.assertHeld()).toThrow('another worker may have taken over');
  });

  it('setting the clock back does not extend a lease', async () => {
    const clockState = { now: 1_000_000 };
    const lease = new Lease(clockReading(clockState), 50, 'a.mov');
    clockState.now = 0;
    await systemClock.sleep(60);
    expect(() => lease.assertHeld()).toThrow('another worker may have taken over');
  });
});

/** Dependencies of a queue client in a test. */
const clientDeps = {
  clock: systemClock,
  signal: new AbortController().signal,
  onConnectionChange: () => {},
  use: 'work',
} as const;

describe('queue store', { tags: 'redis-server' }, () => {
  let server: RedisServer;
  let client: QueueClient;
  beforeAll(async () => {
    server = await startRedis();
    client = await openQueueClient(parseQueueAddress('', `${server.address}#fence`), clientDeps);
  });
  afterAll(async () => {
    await client.close();
    await server.end();
  });

  it('an attempt cannot write after a later attempt has claimed its upload', async () => {
    const { store } = client;
    const firstAttempt = await store.claim('a');
    expect(await store.writeEntry('a', firstAttempt.fence, 'of the first')).toBe(true);
    const secondAttempt = await store.claim('a');
    expect(secondAttempt).toMatchObject({ entry: 'of the first', receipt: undefined });
    expect(secondAttempt.fence).not.toBe(firstAttempt.fence);
    expect(await store.writeEntry('a', firstAttempt.fence, 'late')).toBe(false);
    expect(await store.writeEntry('a', firstAttempt.fence, undefined)).toBe(false);
    expect(await store.finish('a', firstAttempt.fence, 'late')).toBe(false);
    expect(await store.finish('a', secondAttempt.fence, 'done')).toBe(true);
    expect(await store.findReceipts(['b', 'a'])).toEqual([undefined, 'done']);
    expect((await store.claim('a')).entry).toBeUndefined();
    for (const attempt of [firstAttempt, secondAttempt])
      expect(await store.writeEntry('a', attempt.fence, 'after the end')).toBe(false);
  });

  it('restoring a receipt saves it if it is missing, and ends the attempt in progress', async () => {
    const { store } = client;
    const { fence } = await store.claim('r');
    expect(await store.writeEntry('r', fence, 'entry')).toBe(true);
    for (const receipt of ['first', 'second']) await store.restoreReceipt('r', receipt);
    await store.restoreReceipt('new', 'alone');
    expect(await store.findReceipts(['r', 'new'])).toEqual(['first', 'alone']);
    expect(await store.writeEntry('r', fence, 'late')).toBe(false);
    expect((await store.claim('r')).entry).toBeUndefined();
  });

  it('an upload that is removed and claimed again rejects writes of its previous attempt', async () => {
    const { store } = client;
    const removedAttempt = await store.claim('c');
    await store.remove(['c']);
    const newAttempt = await store.claim('c');
    expect(await store.writeEntry('c', removedAttempt.fence, 'of the former')).toBe(false);
    expect(await store.writeEntry('c', newAttempt.fence, 'of the new')).toBe(true);
    expect(await store.writeEntry('c', newAttempt.fence, undefined)).toBe(true);
    expect((await store.claim('c')).entry).toBeUndefined();
  });

  it('several clients that open a new queue store at the same time all succeed', async () => {
    const clients = await Promise.all(
      [1, 2, 3, 4].map(() => openQueueClient(parseQueueAddress('', `${server.address}#many`), clientDeps)),
    );
    const claims = await Promise.all(clients.map(({ store }) => store.claim('a')));
    expect(new Set(claims.map(({ fence }) => fence)).size).toBe(4);
    for (const opened of clients) await opened.close();
  });

  it('a write waits while the queue store restarts, and then succeeds', async () => {
    const { fence } = await client.store.claim('d');
    await server.kill();
    const writing = client.store.writeEntry('d', fence, 'late');
    await systemClock.sleep(300);
    await server.start();
    expect(await writing).toBe(true);
  });

  it('opening a queue store at an unused port fails with queue_unreachable', async () => {
    const address = parseQueueAddress('', server.address.replace(/:\d+/, ':1'));
    expect(await openQueueClient(address, clientDeps).catch(seenError)).toEqual(errorInTable('queue_unreachable'));
  });
});

describe('workers', { tags: 'redis-server' }, () => {
  let server: RedisServer;
  let client: QueueClient;
  beforeAll(async () => {
    server = await startRedis();
    client = await openQueueClient(parseQueueAddress('', server.address), clientDeps);
  });
  afterAll(async () => {
    await client.close();
    await server.end();
  });
  it('a worker that pauses after repeated failures aborts its current uploads', async () => {
    const health = new WorkerHealth(client, {
      roots: await Roots.open([], '/'),
      service: 'https://api.example.com',
      clock: systemClock,
      leaseMs: 30_000,
      warn: () => {},
      describe: ({ message }: CodedError) => message,
    });
    const signal = await health.waitUntilHealthy(new AbortController().signal);
    for (let failures = 0; failures < 10; failures++) health.onFailure(parseFailure('the disk is slow'));
    expect(seenError(signal.reason)).toEqual(errorInTable('worker_paused'));
  });
});

describe('Redis', { tags: 'redis-server' }, () => {
  const connectToRedis = async (redisOptions: string[], { password = '' } = {}) => {
    const server = await startRedis(redisOptions);
    try {
      const address = server.address.replace('//', `//${password && `:${password}@`}`);
      const client = await openQueueClient(parseQueueAddress('', address), clientDeps);
      await client.close();
      return client.serverInfo;
    } catch (error) {
      const { message, explanation } = error as CodedError;
      expect(JSON.stringify([message, explanation.reason])).not.toContain('secret');
      return seenError(error as CodedError);
    } finally {
      await server.end();
    }
  };

  it('a Redis with a password refuses a missing or wrong password and accepts the right one', async () => {
    const options = ['--requirepass', 'a-secret-of-redis'];
    const refusal = errorInTable('queue_refused');
    expect(await connectToRedis(options)).toEqual(refusal);
    expect(await connectToRedis(options, { password: 'another-secret' })).toEqual(refusal);
    expect(await connectToRedis(options, { password: 'a-secret-of-redis' })).toMatchObject({
      durabilityWarning: undefined,
    });
  });

  it('a Redis whose eviction policy may delete keys is refused', async () => {
    const refusal = {
      code: 'queue_unusable',
      exit: 2,
      hint: 'set maxmemory-policy noeviction in redis.conf, or use a separate Redis',
    };
    expect(await connectToRedis(['--maxmemory-policy', 'allkeys-lru'])).toEqual(refusal);
  });

  it('a Redis without an append-only file causes a durability warning, and one with it does not', async () => {
    expect(await connectToRedis(['--appendonly', 'no'])).toMatchObject({
      server: expect.stringMatching(/^redis \d/),
      durabilityWarning: expect.stringContaining('AOF is off'),
    });
    expect(await connectToRedis(['--appendonly', 'yes'])).toMatchObject({ durabilityWarning: undefined });
  });
});
