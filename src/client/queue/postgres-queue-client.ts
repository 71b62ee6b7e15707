import { setMaxListeners } from 'node:events';
import type { Queue, QueueEvents, Worker } from 'bullmq';
import type { Pool, PoolClient } from 'pg';
import { ConnectionMonitor, createRetryingStore, isOutage, raceAbort, waitAtMost } from './connection-monitor.ts';
import {
  closeAll,
  closeTimeoutMs,
  connectTimeoutMs,
  type ManagedConnection,
  startManaged,
} from './managed-connection.ts';
import type { QueueAddress } from './queue-address.ts';
import type { QueueClient, QueueClientDeps } from './queue-client.ts';
import { classifyOpenError } from './store-errors.ts';
import { StoreGuard } from './store-guard.ts';
import type { TaskResult, UploadTask } from './task.ts';
import { createPostgresStore, createTablesSql } from './upload-store.ts';

/** Pool size. PostgreSQL allows 100 connections by default. Up to two of ours listen permanently; the others run short queries. */
const maxConnections = 6;

/** Statement that selects BullMQ's schema, since BullMQ's queries do not name it. */
const setSearchPathSql = 'set search_path to bullmq';

export async function openPostgresClient(address: QueueAddress, deps: QueueClientDeps): Promise<QueueClient> {
  const { clock } = deps;
  const engine = await import('./engine.lazy.ts');
  const { name, href } = address;
  let needsSearchPath = false;
  const pool = new engine.RetryingPool({
    // pg treats the older modes as verify-full, with a long warning.
    connectionString: href.includes('uselibpqcompat=')
      ? href
      : href.replace(/\bsslmode=(?:prefer|require|verify-ca)\b/, 'sslmode=verify-full'),
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    max: maxConnections,
    // Set by a statement, because a pooler would reject a connection option.
    onConnect: async (client) => void (needsSearchPath && (await client.query(setSearchPathSql))),
    Client: engine.QuietClient,
  });
  const closing = new AbortController();
  const signal = AbortSignal.any([deps.signal, closing.signal]);
  const probe = () => pool.probe((client) => checkWriteAccess(client, name));
  const monitor = new ConnectionMonitor(probe, {
    ...{ clock, signal },
    onConnectionChange: (cause) => {
      deps.onConnectionChange(cause);
      if (cause === undefined) guard.notifyReconnected(serverStartTime(pool));
    },
  });
  const guard = new StoreGuard(address, monitor, deps);
  const retry = guard.withErrorClassification((ask) => raceAbort(monitor.retryUntilUp(ask), { clock, signal }));
  setMaxListeners(0, signal); // one listener per request
  pool.setMaxListeners(0); // one listener per BullMQ object
  // An idle connection was dropped. A query starts the retries.
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
        if ((client as { processID?: number }).processID !== pid) await assertSessionPersists(client, pool);
        await client.query(setSearchPathSql);
        needsSearchPath = true;
      }
      await createTables(client, engine);
      if (deps.checksWriteAccess)
        await checkWriteAccess(client, name).catch((error) => {
          if (!isOutage(error)) throw error; // an outage: retried later
        });
    } finally {
      client.release();
    }
    pool.retryConnect = (connect) => monitor.retryUntilUp(connect);
    const backend = engine.createPostgresBackend;
    const connection = pool as never;
    const parts = new Set<ManagedConnection>();
    const start = <T extends ManagedConnection>(make: () => T) => startManaged(make, parts, retry, guard.onError);
    guard.notifyReconnected(serverStartTime(pool));
    const queue = await start(() => new engine.Queue<UploadTask, TaskResult>(name, { connection }, backend as never));
    return {
      address,
      storeInfo: { server: `postgresql ${server}`, durabilityWarning: undefined },
      store: createRetryingStore(createPostgresStore(pool, name), retry),
      withRetry: retry,
      get isDisconnected() {
        return monitor.isDown;
      },
      fatalSignal: guard.fatal.signal,
      checkWriteAccess: () => guard.withErrorClassification((ask) => ask())(probe),
      onReconnect: guard.onReconnect,
      queue: queue as unknown as Queue<UploadTask, TaskResult>,
      worker: (perform, options) =>
        start(
          () =>
            new engine.Worker(
              name,
              perform,
              { ...options, connection, autorun: false },
              backend as never,
            ) as unknown as Worker<UploadTask, TaskResult>,
        ),
      events: () =>
        start(
          () =>
            new engine.QueueEvents(name, { connection, autorun: false }, backend as never) as unknown as QueueEvents,
        ),
      requeueSignal: () => new engine.WaitingError(),
      permanentFailure: (message) => new engine.UnrecoverableError(message),
      close: async () => {
        closing.abort();
        await closeAll(parts, clock);
        await waitAtMost(closeTimeoutMs, clock, pool.end());
      },
    };
  } catch (error) {
    await pool.end().catch(() => {}); // the first error matters more
    throw classifyOpenError(address, error, guard.role);
  }
}

/**
 * Creates missing tables under an advisory lock, so that concurrent processes do not race. Roles that only use
 * existing tables need not own them. The lock is a session lock, because a transaction would still see its snapshot
 * from before the lock and create the tables twice.
 */
async function createTables(client: PoolClient, engine: typeof import('./engine.lazy.ts')): Promise<void> {
  const findSchemas = async () => ({
    hasEngine: await engine.assertSchemaCompatibility(client, 'bullmq').then(
      (version) => version >= engine.LATEST_SCHEMA_VERSION,
      (error) => {
        if (error instanceof engine.SchemaMigrationRequiredError) return false;
        throw error;
      },
    ),
    hasUploads: (await client.query("select to_regclass('mediactl.uploads') as uploads")).rows[0].uploads !== null,
  });
  const first = await findSchemas();
  if (first.hasEngine && first.hasUploads) return;
  await client.query("select pg_advisory_lock(hashtext('mediactl'))");
  try {
    const { hasEngine, hasUploads } = await findSchemas();
    if (!hasEngine) await engine.runMigrations(client);
    if (!hasUploads) await client.query(createTablesSql);
  } finally {
    await client.query("select pg_advisory_unlock(hashtext('mediactl'))").catch(() => {}); // also released with its connection
  }
}

/** Returns the server's start time. It identifies the server process, so that a failover or restart is detected. */
const serverStartTime = async (pool: Pool): Promise<string> =>
  (await pool.query('select pg_postmaster_start_time()::text as start')).rows[0].start;

/**
 * Checks that session settings persist. A connection pooler might route each statement to another connection.
 *
 * @throws the error that a missing schema would cause later
 */
async function assertSessionPersists(client: PoolClient, pool: Pool): Promise<void> {
  await client.query("set mediactl.trial to 'one'");
  const other = await pool.connect();
  await other.query("set mediactl.trial to 'other'").finally(() => other.release(true));
  const { rows } = await client.query("select current_setting('mediactl.trial', true) as trial");
  if (rows[0].trial === 'one') return;
  const message = 'each statement gets another connection, as with pool_mode=transaction';
  throw Object.assign(new Error(message), { code: '3F000' });
}

/** Checks write access with the kinds of statements that workers use, which fail without permission even if no row matches. */
const checkWriteAccess = (client: PoolClient, queue: string) =>
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
