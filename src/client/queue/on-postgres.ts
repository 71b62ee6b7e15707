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

/** Pool size. PostgreSQL allows 100 connections in all by default; two may listen permanently, the others run short queries. */
const connections = 6;

/** Sets the engine's schema, which its queries do not name. */
const setPath = 'set search_path to bullmq';

export async function onPostgres(address: QueueAddress, tools: FleetTools): Promise<Fleet> {
  const { clock } = tools;
  const engine = await import('./engine.lazy.ts');
  const { name, href } = address;
  let isPathToSet = false;
  const pool = new engine.WaitingPool({
    // pg treats the older modes as verify-full, with a long warning.
    connectionString: href.includes('uselibpqcompat=')
      ? href
      : href.replace(/\bsslmode=(?:prefer|require|verify-ca)\b/, 'sslmode=verify-full'),
    connectionTimeoutMillis: connectMs,
    keepAlive: true,
    max: connections,
    // Not as a connection option, which a pooler would reject.
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
  setMaxListeners(0, signal); // one listener per request
  pool.setMaxListeners(0); // one listener per started part of the engine
  // An idle connection was dropped: a query starts the retries.
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
          if (!isOutage(error)) throw error; // an outage: retried later
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
    await pool.end().catch(() => {}); // the first error matters more
    throw openFailure(address, error, guard.role);
  }
}

/**
 * Creates missing tables under an advisory lock, so that concurrent processes do not race. Roles that only use
 * the tables need not own them. The lock is not a transaction's: a transaction would still see its snapshot from
 * before the lock, and create the tables twice.
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
    await client.query("select pg_advisory_unlock(hashtext('mediactl'))").catch(() => {}); // also released with its connection
  }
}

/** Returns the server's start time, which identifies the server process, to detect a failover or restart. */
const startOf = async (pool: Pool): Promise<string> =>
  (await pool.query('select pg_postmaster_start_time()::text as start')).rows[0].start;

/**
 * Checks that session settings persist. A connection pooler may route each statement to another connection.
 *
 * @throws the error that a missing schema would cause later
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

/** Checks write access with the statements of a worker, in one transaction. Permissions are checked even if no row matches. */
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
