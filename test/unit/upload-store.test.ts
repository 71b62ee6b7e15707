import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { StateDatabase } from '../../src/client/state/state-database.ts';
import { Receipts } from '../../src/client/upload/store/receipts.ts';
import { LocalUploadStore, type UploadStore } from '../../src/client/upload/store/upload-store.ts';
import { createAttemptStore } from '../../src/queue/attempt-store.ts';
import { Lease } from '../../src/queue/lease.ts';
import { openQueueClient } from '../../src/queue/open-queue-client.ts';
import { parseQueueAddress } from '../../src/queue/queue-address.ts';
import { type Clock, systemClock } from '../../src/shared/clock.ts';
import { errorInTable, seenError } from '../support/errors.ts';
import { startRedis } from '../support/redis-server.ts';
import { changeState, queryState } from '../support/state-database.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { openEntry, type StoreAdapter, type StoreProcess, testUploadStore } from '../support/upload-store-suite.ts';

/* The stores with which an upload survives a crash: SQLite on one machine, Redis for the workers of a queue. */

const { id } = openEntry;

type LocalProcess = StoreProcess & {
  store: LocalUploadStore;
  receipts: Receipts;
  end(): Promise<void>;
};

async function openLocal(folder: string, pid = process.pid): Promise<LocalProcess> {
  const database = await StateDatabase.open(folder);
  const mark = join(folder, 'runs', `${database.processId}.lock`);
  return {
    store: new LocalUploadStore(database, pid),
    receipts: new Receipts(database),
    // Leaves what a kill leaves: the locks of rows, and the file of the process without its kernel lock.
    end: async () => {
      const isMarked = existsSync(mark);
      await database.close();
      if (isMarked) writeFileSync(mark, '');
    },
  };
}

async function startLocal(): Promise<StoreAdapter> {
  let folder = '';
  const processes = new Map<StoreProcess, LocalProcess>();
  return {
    isQueue: false,
    reset: async () => {
      folder = temporaryFolder();
    },
    open: async () => {
      const opened = await openLocal(folder);
      processes.set(opened, opened);
      return opened;
    },
    end: async (ended) => processes.get(ended)?.end(),
    close: async () => {},
  };
}

const leaseMs = 30_000;

async function startQueue(): Promise<StoreAdapter> {
  const server = await startRedis();
  const client = await openQueueClient(parseQueueAddress('', `${server.address}#suite`), {
    clock: systemClock,
    signal: new AbortController().signal,
    onConnectionChange: () => {},
    use: 'work',
  });
  const redis = new Redis(server.address);
  const keys = ['fences', 'entries', 'receipts'].map((part) => `mediactl:suite:${part}`);
  return {
    isQueue: true,
    reset: async () => void (await redis.del(keys)),
    open: async (of, clock = systemClock) => {
      const claim = await client.store.claim(of);
      return { store: createAttemptStore(client, claim, new Lease(clock, leaseMs, of)), receipts: undefined };
    },
    end: async () => {},
    close: async () => {
      redis.disconnect();
      await client.close();
      await server.end();
    },
  };
}

/** Returns the error with which each write to a store fails. */
const writeErrorsOf = (store: UploadStore) => {
  const calls = [
    () => store.write({ ...openEntry, offset: 1 }),
    () => store.finish({ ...openEntry, offset: 2 }, {} as never),
    () => store.remove(id),
  ];
  return Promise.all(calls.map((call) => call().then(() => 'succeeds', seenError)));
};

describe('uploads in SQLite', () => {
  testUploadStore(startLocal, testLocal);
});

function testLocal(): void {
  let folder: string;
  beforeEach(() => {
    folder = temporaryFolder();
  });
  const openProcess = async ({ pid }: { pid?: number } = {}) => {
    const opened = await openLocal(folder, pid);
    let isEnded = false;
    const end = async () => {
      if (!isEnded) await opened.end();
      isEnded = true;
    };
    onTestFinished(end);
    return { ...opened, end };
  };
  const inProgressError = { code: 'upload_in_progress', exit: 6 };

  it('an upload that one process has locked is locked for every other process until its release', async () => {
    const [firstProcess, secondProcess] = [await openProcess({ pid: 11 }), await openProcess({ pid: 12 })];
    const release = await firstProcess.store.lock(id);
    const refused = await secondProcess.store.lock(id).catch((error) => error);
    expect(seenError(refused)).toMatchObject(inProgressError);
    expect(refused.message).toContain('pid 11');
    await release();
    const releaseSecond = await secondProcess.store.lock(id);
    expect(await firstProcess.store.lock(id).catch(seenError)).toMatchObject(inProgressError);
    await release(); // its lock is another's by now
    expect(await firstProcess.store.lock(id).catch(seenError)).toMatchObject(inProgressError);
    await releaseSecond();
    const releaseAgain = await firstProcess.store.lock(id);
    await release(); // nor is it the later lock of the same process
    expect(await secondProcess.store.lock(id).catch(seenError)).toMatchObject(inProgressError);
    await releaseAgain();
    expect(queryState(folder, 'SELECT * FROM uploads')).toEqual([]);
  });

  it('only one of many processes that lock an upload at the same time succeeds', async () => {
    const processes = await Promise.all(Array.from({ length: 8 }, (_, n) => openProcess({ pid: 100 + n })));
    const results = await Promise.all(processes.map(({ store }) => store.lock(id).catch(seenError)));
    expect(results.filter((result) => typeof result === 'function')).toHaveLength(1);
    for (const result of results) if (typeof result !== 'function') expect(result).toMatchObject(inProgressError);
  });

  it('only one of many processes takes over the lock of a dead process', async () => {
    const deadProcess = await openProcess();
    await deadProcess.store.lock(id);
    await deadProcess.store.write(openEntry);
    const processes = await Promise.all(Array.from({ length: 8 }, (_, n) => openProcess({ pid: 100 + n })));
    await deadProcess.end();
    const results = await Promise.all(processes.map(({ store }) => store.lock(id).catch(seenError)));
    expect(results.filter((each) => typeof each === 'function')).toHaveLength(1);
    expect(await processes[0]?.store.read(id)).toEqual(openEntry);
  });

  it('a lock outlives the removal of its entry, and finishing an upload unlocks it', async () => {
    const [owner, otherProcess] = [await openProcess(), await openProcess()];
    const release = await owner.store.lock(id);
    await owner.store.write(openEntry);
    await owner.store.remove(id);
    expect(await owner.store.read(id)).toBeUndefined();
    expect(await otherProcess.store.lock(id).catch(seenError)).toMatchObject(inProgressError);
    await owner.store.write(openEntry);
    await owner.store.finish(openEntry, receipt);
    await (await otherProcess.store.lock(id))();
    await release();
    expect(await otherProcess.receipts.count()).toBe(1);
  });

  it('an upload entry that another process has locked is not removed', async () => {
    const [owner, otherProcess] = [await openProcess(), await openProcess()];
    await owner.store.lock(id);
    await owner.store.write(openEntry);
    await otherProcess.store.remove(id);
    expect(await owner.store.read(id)).toEqual(openEntry);
    expect(await otherProcess.store.lock(id).catch(seenError)).toMatchObject(inProgressError);
    await owner.end();
    await (await otherProcess.store.lock(id))();
    await otherProcess.store.remove(id);
    expect(await otherProcess.store.read(id)).toBeUndefined();
  });

  it('the temporary file of a killed process is removed with its lock unless an upload entry needs it', async () => {
    const files = ['locked', 'kept'].map((name) => join(folder, name)) as [string, string];
    for (const file of files) writeFileSync(file, 'stdin');
    const deadProcess = await openProcess();
    await deadProcess.store.lock('locked', files[0]);
    await deadProcess.store.lock('kept', files[1]);
    await deadProcess.store.write({ ...openEntry, id: 'kept' });
    await deadProcess.end();
    const { store } = await openProcess();
    await store.lock('another');
    expect(files.map((file) => existsSync(file))).toEqual([false, true]);
    for (const each of ['locked', 'kept']) await store.lock(each);
    expect(await store.list()).toEqual([{ ...openEntry, id: 'kept' }]);
  });

  it('a row of the uploads table without an entry is only a lock', async () => {
    const { store } = await openProcess();
    await store.write(openEntry);
    changeState(folder, 'UPDATE uploads SET entry = NULL');
    expect([await store.read(id), await store.list()]).toEqual([undefined, []]);
    await (await store.lock(id))();
    expect(queryState(folder, 'SELECT * FROM uploads')).toEqual([]);
  });
}

const receipt = {
  ...{
    service: openEntry.baseUrl,
    workspace: openEntry.metadata.workspace_uid,
    folder: '',
    realPath: openEntry.realPath,
  },
  ...{
    sizeBytes: 5,
    mtimeNs: '1',
    ctimeNs: null,
    blake3: 'ab'.repeat(32),
    verified: true,
    name: 'day 1.mov',
    reason: null,
    about: null,
  },
  ...{ assetUid: openEntry.session.assetUid, sessionUid: openEntry.session.uid, at: openEntry.begunAt },
  state: 'unchecked' as const,
};

describe('uploads in a queue', { tags: 'redis-server' }, () => {
  testUploadStore(startQueue, testQueue);
});

function testQueue(current: () => StoreAdapter): void {
  const leaseLostError = errorInTable('taken_over');

  const claimJob = (of: string, clock?: Clock) => current().open(of, clock);
  it('an attempt cannot write after another attempt has claimed its job', async () => {
    const firstAttempt = await claimJob(id);
    await firstAttempt.store.write(openEntry);
    await claimJob(id);
    expect(await writeErrorsOf(firstAttempt.store)).toEqual([leaseLostError, leaseLostError, leaseLostError]);
    const secondAttempt = await claimJob(id);
    expect(await secondAttempt.store.read(id)).toMatchObject({ offset: 0 });
    await secondAttempt.store.write({ ...openEntry, offset: 3 });
    expect(await secondAttempt.store.read(id)).toMatchObject({ offset: 3 });
    expect(await (await claimJob(id)).store.read(id)).toMatchObject({ offset: 3 });
  });

  it('an attempt cannot write after its clock jumps past the lease, even if the clock is set back', async () => {
    let aheadMs = 0;
    const clock = { ...systemClock, now: () => systemClock.now() + aheadMs };
    const { store: attemptStore } = await claimJob(id, clock);
    await attemptStore.write(openEntry);
    aheadMs = leaseMs;
    expect(await writeErrorsOf(attemptStore)).toEqual([leaseLostError, leaseLostError, leaseLostError]);
    aheadMs = 0;
    expect(await writeErrorsOf(attemptStore)).toEqual([leaseLostError, leaseLostError, leaseLostError]);
    expect(await (await claimJob(id)).store.read(id)).toMatchObject({ offset: 0 });
  });

  it('claiming one job does not end the attempt of a different job', async () => {
    const { store: firstStore } = await claimJob(id);
    await (await claimJob('another')).store.write({ ...openEntry, id: 'another' });
    await firstStore.write(openEntry);
    await firstStore.remove(id);
    expect(await (await claimJob(id)).store.read(id)).toBeUndefined();
    expect(await (await claimJob('another')).store.read('another')).toMatchObject({ id: 'another' });
  });
}
