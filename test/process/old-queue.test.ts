import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isFullRun } from '../support/full-run.ts';
import { Interposer } from '../support/interposer.ts';
import { Machines, parseJsonLines } from '../support/machines.ts';
import { oldBytes, oldFiles, oldQueue, oldText, startOldService, writeOldMedia } from '../support/old-state.ts';
import type { TestSandbox } from '../support/sandbox.ts';
import { postgres, redis, type StoreServer, type TestStore } from '../support/stores.ts';

const acknowledged = 2 * 64 * 1024;

type Places = { origin: string; media: string };
type Dumped =
  | { type: 'string'; value: string }
  | { type: 'list' | 'zset'; value: string[] }
  | { type: 'hash'; value: Record<string, string> }
  | { type: 'stream'; value: [id: string, fields: string[]][] };

async function restoreRedis(store: StoreServer, places: Places): Promise<void> {
  const dump: Record<string, Dumped> = JSON.parse(oldQueue('queue-redis.json', places));
  const client = new Redis(store.address);
  try {
    for (const [key, { type, value }] of Object.entries(dump)) {
      if (type === 'string') await client.set(key, value);
      else if (type === 'list') await client.rpush(key, ...value);
      else if (type === 'hash') await client.hset(key, value);
      else if (type === 'stream') for (const [id, fields] of value) await client.xadd(key, id, ...fields);
      else
        for (let at = 0; at < value.length; at += 2)
          await client.zadd(key, value[at + 1] as string, value[at] as string);
    }
  } finally {
    client.disconnect();
  }
}

/** @param makeTables of the engine, which are not ours: today's program makes them */
async function restorePostgres(store: StoreServer, places: Places, makeTables: () => Promise<unknown>): Promise<void> {
  const client = new Client(store.address);
  await client.connect();
  try {
    await client.query(oldText('queue-postgres-tables.sql'));
    await makeTables();
    await client.query('delete from bullmq.meta'); // which the fixture has too
    await client.query(oldQueue('queue-postgres.sql', places));
  } finally {
    await client.end();
  }
}

function describeOldQueue({ kind, requirement, start }: TestStore): void {
  describe(`a queue of 5fb2bef on ${kind}`, { tags: [requirement, 'undocumented-fields'] }, () => {
    let store: StoreServer;
    let sandbox: TestSandbox;
    let line: Interposer;
    let media: string;
    let machines: Machines;

    beforeEach(async () => {
      [store, sandbox] = await Promise.all([start(), startOldService()]);
    });
    afterEach(() => Promise.all([store.end(), sandbox.end()]));

    /** Puts the queue of the fixture into the store, and what it is about on the disk. */
    async function restore(): Promise<void> {
      line = await Interposer.start(sandbox.url);
      media = writeOldMedia(kind);
      machines = new Machines(
        {
          MEDIACTL_API_KEY: sandbox.key,
          MEDIACTL_BASE_URL: line.url,
          MEDIACTL_WORKSPACE: oldFiles.workspace,
        },
        `${store.address}#fixture`,
        `media=${media}`,
      );
      const places = { origin: line.url, media };
      if (kind === 'redis') await restoreRedis(store, places);
      else await restorePostgres(store, places, () => machines.json(['uploads', 'ls', '--queue']));
      line.requests.length = 0;
    }

    type Listed = { id: string; path: string; state: string; asset_uid: string | null };
    const ls = async (...more: string[]): Promise<Listed[]> => machines.json(['uploads', 'ls', '--queue', ...more]);
    const statesOf = (listed: Listed[]) => Object.fromEntries(listed.map(({ path, state }) => [path, state]));
    /** Polls by a new process each time. */
    const poll = <T>(check: () => Promise<T>) => expect.poll(check, { interval: 500 });
    const named = (name: string) => `media:${kind}/${name}.bin`;
    const assetsNamed = async (name: string): Promise<string[]> => {
      const all = await machines.json(['assets', 'ls', '--search', name, '--all']);
      return all.filter((each: { name: string }) => each.name === name).map((each: { uid: string }) => each.uid);
    };

    it('runs to the end with a worker of today: what was part sent is continued, what failed can be retried', async () => {
      await restore();
      expect(statesOf(await ls())).toEqual({
        [named('missing')]: 'failed',
        [named('part')]: 'uploading',
        [named('delayed')]: 'retrying',
        [named('waiting-1')]: 'waiting',
        [named('waiting-2')]: 'waiting',
        [named('waiting-3')]: 'waiting',
      });
      const [done] = await ls('--done');
      expect(done).toMatchObject({ path: named('done'), state: 'uploaded' });

      const worker = machines.worker(['--lease', '1s']);
      await poll(async () => statesOf(await ls())).toEqual({ [named('missing')]: 'failed' });
      const [failed] = await ls();
      await machines.json(['uploads', 'retry', failed?.id as string, '--queue']);
      await poll(() => ls()).toEqual([]);
      worker.child.kill('SIGTERM');
      const { code, stdout, stderr } = await worker.finished;
      expect(code, stderr).toBe(0);

      const names = ['missing', 'part', 'delayed', 'waiting-1', 'waiting-2', 'waiting-3'];
      const outcomes = parseJsonLines(stdout).map(({ path, outcome, verified }) => [path, outcome, verified]);
      expect(outcomes.sort()).toEqual(names.map((name) => [named(name), 'uploaded', true]).sort());
      const all = new Map((await ls('--done')).map((each) => [each.path, each]));
      expect([...all.keys()].sort()).toEqual([...names, 'done'].map(named).sort());
      for (const name of [...names, 'done']) {
        const uid = all.get(named(name))?.asset_uid as string;
        const source = readFileSync(join(sandbox.dataDir, 'media', uid, 'source'));
        expect(source.equals(oldBytes(`${kind}/${name}.bin`)), name).toBe(true);
      }

      // Part sent: nothing before the acknowledged byte is sent again, to the asset that there was.
      expect(all.get(named('part'))).toMatchObject({
        resumed_from: acknowledged,
        bytes_sent: oldBytes(`${kind}/part.bin`).length - acknowledged,
      });
      const sessions = line.requests.filter(
        ({ method, headers }) => method === 'PATCH' && Number(headers['upload-offset']) > 0,
      );
      const offsets = sessions.map(({ headers }) => Number(headers['upload-offset']));
      expect(Math.min(...offsets)).toBe(acknowledged);
      expect(new Set(sessions.map(({ path }) => path)).size).toBe(1);
      // One creation for each of the others.
      expect(line.methods.filter((method) => method === 'POST')).toHaveLength(names.length - 1);
      expect(await assetsNamed('delayed.bin')).toHaveLength(1);
      const third = all.get(named('waiting-3'))?.asset_uid as string;
      expect(await machines.json(['assets', 'get', third])).toMatchObject({
        name: `${kind} third`,
        description: 'the third',
      });
    });

    it('knows its jobs and receipts: the same files are not queued again, and not sent again', async () => {
      await restore();
      const [done] = await ls('--done');
      const before = (await ls()).map(({ id }) => id).sort();
      const queued = await machines.json([
        ...['upload', '--queue', '--root', `media=${media}`, '--chunk-size', '64KiB'],
        ...['done', 'waiting-1', 'part'].map((name) => join(media, kind, `${name}.bin`)),
      ]);
      const outcomes = new Map(
        queued.map((each: { path: string; outcome: string; asset_uid: string | null }) => [
          each.path.slice(media.length + kind.length + 2),
          [each.outcome, each.asset_uid],
        ]),
      );
      expect(Object.fromEntries(outcomes)).toEqual({
        'done.bin': ['there', done?.asset_uid],
        'waiting-1.bin': ['queued', null],
        'part.bin': ['queued', null],
      });
      expect((await ls()).map(({ id }) => id).sort()).toEqual(before);
      expect(line.methods.filter((method) => method === 'POST')).toEqual([]);
    });
  });
}

describeOldQueue(redis);
if (isFullRun) describeOldQueue(postgres);
