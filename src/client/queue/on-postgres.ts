import { setMaxListeners } from 'node:events';
import type { Queue, QueueEvents, Worker } from 'bullmq';
import type { Pool, PoolClient } from 'pg';
import type { Fleet, FleetTools } from './fleet.ts';
import { Guard } from './guard.ts';
import { begun, closeMs, connectMs, ended, type Opened } from './opened.ts';
import { atMost, heeding, isOutage, Outages, waitingStore } from './patience.ts';
import type { QueueAddress } from './queue-address.ts';
import { postgresStore, postgresTables } from './store.ts';
import { openFailure } from './store-errors.ts';
import type { TaskResult, UploadTask } from './task.ts';

/** It has a hundred for everybody: two may listen, the others ask briefly. */
const connections = 6;

/** The schema is the engine's, which names no schema in what it asks. */
const setPath = 'set search_path to bullmq';

export async function onPostgres(address: QueueAddress, tools: FleetTools): Promise<Fleet> {
  const { clock } = tools;
  const engine = await import('./engine.lazy.ts');
  const { name, href } = address;
  let isPathToSet = false;
  const pool = new engine.WaitingPool({
    // The older modes mean the same to pg, which would warn of that at length.
    connectionString: href.includes('uselibpqcompat=')
      ? href
      : href.replace(/\bsslmode=(?:prefer|require|verify-ca)\b/, 'sslmode=verify-full'),
    connectionTimeoutMillis: connectMs,
    keepAlive: true,
    max: connections,
    // Not as an option of the connection: a pooler would refuse that.
    onConnect: async (client) => void (isPathToSet && (await client.query(setPath))),
    Client: engine.QuietClient,
  });
  const closing = new AbortController();
  const signal = AbortSignal.any([tools.signal, closing.signal]);
  const probe = () => pool.probe((client) => tryWrite(client, name));
  const outages = new Outages(probe, {
    ...{ clock, signal },
    onAway: (cause) => {
      tools.onAway(cause);
      if (cause === undefined) guard.returned(startOf(pool));
    },
  });
  const guard = new Guard(address, outages, tools);
  const wait = guard.classified((ask) => heeding(outages.waitOut(ask), { clock, signal }));
  setMaxListeners(0, signal); // of each question that is asked
  pool.setMaxListeners(0); // of each part of the engine that was begun
  // An idle connection broke: the next query is to wait.
  pool.on('error', () => void pool.query('select 1').catch(() => {}));
  try {
    const client = await pool.connect();
    let server = '';
    try {
      const { rows } = await client.query(
        "select current_user as role, current_setting('server_version') as server, current_setting('search_path') as path, pg_backend_pid() as pid",
      );
      const { role, path, pid } = rows[0];
      [guard.role, server] = [role, rows[0].server];
      if (!/^"?bullmq"?(?:,|$)/.test(path)) {
        if ((client as { processID?: number }).processID !== pid) await assertSession(client, pool);
        await client.query(setPath);
        isPathToSet = true;
      }
      await makeTables(client, engine);
      if (tools.writes)
        await tryWrite(client, name).catch((error) => {
          if (!isOutage(error)) throw error; // waited out later
        });
    } finally {
      client.release();
    }
    pool.waitOut = (connect) => outages.waitOut(connect);
    const backend = engine.createPostgresBackend;
    const connection = pool as never;
    const opened = new Set<Opened>();
    const begin = <T extends Opened>(make: () => T) => begun(make, opened, wait, guard.onError);
    guard.returned(startOf(pool));
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
      refused: guard.refused.signal,
      trial: () => guard.classified((ask) => ask())(probe),
      onReturn: guard.onReturn,
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
    throw openFailure(address, error, guard.role);
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

/** Tells one start of a server from another, and one server from another. */
const startOf = async (pool: Pool): Promise<string> =>
  (await pool.query('select pg_postmaster_start_time()::text as start')).rows[0].start;

/**
 * Asserts that a setting stays with its connection. A pooler may give each statement another one.
 *
 * @throws as a server that does not find the tables would, later
 */
async function assertSession(client: PoolClient, pool: Pool): Promise<void> {
  await client.query("set mediactl.trial to 'one'");
  const other = await pool.connect();
  await other.query("set mediactl.trial to 'other'").finally(() => other.release(true));
  const { rows } = await client.query("select current_setting('mediactl.trial', true) as trial");
  if (rows[0].trial === 'one') return;
  const message = 'each statement gets another connection, as with pool_mode=transaction';
  throw Object.assign(new Error(message), { code: '3F000' });
}

/** Does what a worker does, in one transaction. Rights are asked for by what finds no row, too. */
const tryWrite = (client: PoolClient, queue: string) =>
  client.query(
    ['mediactl.uploads', 'bullmq.job', 'bullmq.event', 'bullmq.meta']
      .map(
        (table) => `insert into ${table} select * from ${table} where false;
          update ${table} set queue = queue where false; delete from ${table} where false;`,
      )
      .concat(`insert into mediactl.uploads (queue, id) values ('${queue}', 'trial');
        delete from mediactl.uploads where queue = '${queue}' and id = 'trial'`)
      .join(''),
  );
