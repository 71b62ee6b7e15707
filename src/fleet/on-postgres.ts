import { setMaxListeners } from 'node:events';
import type { Queue, QueueEvents, Worker } from 'bullmq';
import type { PoolClient } from 'pg';
import { MediactlError } from '../errors.ts';
import type { QueueAddress } from '../settings/queue-address.ts';
import type { Fleet, FleetTools } from './fleet.ts';
import { begun, closeMs, connectMs, ended, type Opened, unreachable } from './opened.ts';
import { atMost, heeding, Outages, waitingStore } from './patience.ts';
import { postgresStore, postgresTables } from './store.ts';
import type { TaskResult, UploadTask } from './task.ts';

/** It has a hundred for everybody: two may listen, the others ask briefly. */
const connections = 6;

export async function onPostgres(address: QueueAddress, tools: FleetTools): Promise<Fleet> {
  const { clock } = tools;
  const engine = await import('./engine.lazy.ts');
  const { name, href } = address;
  const pool = new engine.WaitingPool({
    connectionString: href,
    connectionTimeoutMillis: connectMs,
    keepAlive: true,
    max: connections,
    options: '-c search_path=bullmq', // as the engine calls its schema
    Client: engine.QuietClient,
  });
  const closing = new AbortController();
  const signal = AbortSignal.any([tools.signal, closing.signal]);
  const outages = new Outages(() => pool.probe(), { ...tools, signal });
  const wait = <T>(ask: () => Promise<T>) => heeding(outages.waitOut(ask), { clock, signal });
  setMaxListeners(0, signal); // of each question that is asked
  pool.setMaxListeners(0); // of each part of the engine that was begun
  // Of a connection that nobody uses: whoever asks next is to wait.
  pool.on('error', () => void pool.query('select 1').catch(() => {}));
  try {
    const client = await pool.connect();
    let server = '';
    try {
      await makeTables(client, engine);
      server = String((await client.query('show server_version')).rows[0].server_version);
    } finally {
      client.release();
    }
    pool.waitOut = (connect) => outages.waitOut(connect);
    const backend = engine.createPostgresBackend;
    const connection = pool as never;
    const opened = new Set<Opened>();
    const begin = <T extends Opened>(make: () => T) => begun(make, opened, wait);
    const queue = await begin(
      () => new engine.Queue<UploadTask, TaskResult>(name, { connection }, backend as never),
    );
    return {
      address,
      health: { server: `postgresql ${server}`, doubt: undefined },
      store: waitingStore(postgresStore(pool, name), wait),
      patiently: wait,
      get isAway() {
        return outages.isOne;
      },
      queue: queue as unknown as Queue<UploadTask, TaskResult>,
      worker: (perform, options) =>
        begin(
          () =>
            new engine.Worker(
              name,
              perform,
              { ...options, connection, autorun: false },
              backend as never,
            ) as unknown as Worker<UploadTask, TaskResult>,
        ),
      events: () =>
        begin(
          () =>
            new engine.QueueEvents(
              name,
              { connection, autorun: false },
              backend as never,
            ) as unknown as QueueEvents,
        ),
      handedBack: () => new engine.WaitingError(),
      unrecoverable: (message) => new engine.UnrecoverableError(message),
      close: async () => {
        closing.abort();
        await ended(opened, clock);
        await atMost(closeMs, clock, pool.end());
      },
    };
  } catch (error) {
    await pool.end().catch(() => {}); // what it ends with matters less than why
    throw error instanceof MediactlError ? error : unreachable(address, error);
  }
}

/**
 * Whoever comes first makes them, while others who come at the same time wait; who only works with them
 * need not own them. The lock is not one of a transaction: within that, what is there is known as it was
 * before the lock was waited for, and would be made twice.
 */
async function makeTables(
  client: PoolClient,
  engine: typeof import('./engine.lazy.ts'),
): Promise<void> {
  const look = async () => ({
    hasEngine: await engine.assertSchemaCompatibility(client, 'bullmq').then(
      (version) => version >= engine.LATEST_SCHEMA_VERSION,
      (error) => {
        if (error instanceof engine.SchemaMigrationRequiredError) return false;
        throw error;
      },
    ),
    hasUploads:
      (await client.query("select to_regclass('mediactl.uploads') as uploads")).rows[0].uploads !==
      null,
  });
  const first = await look();
  if (first.hasEngine && first.hasUploads) return;
  await client.query("select pg_advisory_lock(hashtext('mediactl'))");
  try {
    const { hasEngine, hasUploads } = await look();
    if (!hasEngine) await engine.runMigrations(client);
    if (!hasUploads) await client.query(postgresTables);
  } finally {
    await client.query("select pg_advisory_unlock(hashtext('mediactl'))").catch(() => {}); // ends with its line
  }
}
