import type { Pool, PoolClient } from 'pg';
import type { RetryingPool } from './engine.lazy.ts';
import type { QueueAddress } from './queue-address.ts';
import { QueueClient, type QueueClientDeps } from './queue-client.ts';
import { createPostgresStore, createTablesSql } from './shared-store.ts';
import { classifyOpenError } from './store-errors.ts';

type Engine = typeof import('./engine.lazy.ts');

/** Maximum number of connections for short queries. Each worker of a root has one more, which shows its name. */
const maxConnections = 5;
const connectTimeoutMs = 10_000;

/** Statement that selects BullMQ's schema, since BullMQ's queries do not name it. */
const setSearchPathSql = 'set search_path to bullmq';

/** Connects to a queue on PostgreSQL, and creates its tables if there are none. */
export async function openPostgresClient(address: QueueAddress, deps: QueueClientDeps): Promise<QueueClient> {
  const engine = await import('./engine.lazy.ts');
  const session: Session = {};
  const pool = createPool(engine, address.href, session);
  let client: QueueClient | undefined;
  pool.on('error', () => void client?.recover()); // an idle connection was dropped
  try {
    await prepareSession(pool, engine, session);
    client = new QueueClient(address, deps, {
      connection: pool as never,
      backend: engine.createPostgresBackend as never,
      role: session.role,
      storeInfo: { server: `postgresql ${session.server}` },
      isConnected: () => true,
      createSharedStore: (retry) => createPostgresStore(pool, address.name, retry),
      checkWriteAccess: () => pool.probe((connection) => checkWriteAccess(connection, address.name)),
      ping: () => pool.probe((connection) => connection.query('select 1')),
      serverId: async () => (await pool.query('select pg_postmaster_start_time()::text as start')).rows[0].start,
      reserveConnections: (change) => {
        pool.options.max += change;
      },
      end: () => pool.end(),
    });
    pool.retryConnect = client.retryOutages.bind(client);
    await client.open();
    return client;
  } catch (error) {
    await pool.end().catch(() => {}); // the first error matters more
    throw classifyOpenError(address, error, session.role);
  }
}

/** Settings of a store's connections, found by the first of them. */
type Session = { role?: string; server?: string; needsSearchPath?: boolean };

function createPool(engine: Engine, href: string, session: Session): RetryingPool {
  const pool = new engine.RetryingPool({
    // pg treats the older modes as verify-full, with a long warning.
    connectionString: href.includes('uselibpqcompat=')
      ? href
      : href.replace(/\bsslmode=(?:prefer|require|verify-ca)\b/, 'sslmode=verify-full'),
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    max: maxConnections,
    // Set by a statement, because a pooler would reject a connection option.
    onConnect: async (client) => void (session.needsSearchPath && (await client.query(setSearchPathSql))),
    Client: engine.QuietClient,
  });
  pool.setMaxListeners(0); // one listener per BullMQ object
  return pool;
}

/** Reads the server's version and the role, makes BullMQ's schema the default of all connections, and creates the tables. */
async function prepareSession(pool: Pool, engine: Engine, session: Session): Promise<void> {
  const client = await pool.connect();
  try {
    const { rows } = await client.query(
      "select current_user as role, current_setting('server_version') as server, current_setting('search_path') as path, pg_backend_pid() as pid",
    );
    const { role, server, path, pid } = rows[0];
    Object.assign(session, { role, server });
    if (!/^"?bullmq"?(?:,|$)/.test(path)) {
      if ((client as { processID?: number }).processID !== pid) await assertSessionPersists(client, pool);
      await client.query(setSearchPathSql);
      session.needsSearchPath = true;
    }
    await createTables(client, engine);
  } finally {
    client.release();
  }
}

/**
 * Creates missing tables under an advisory lock, so that concurrent processes do not race. Roles that only use
 * existing tables need not own them. The lock is a session lock, because a transaction would still see its snapshot
 * from before the lock and create the tables twice.
 */
async function createTables(client: PoolClient, engine: Engine): Promise<void> {
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

/** Checks that a pooler keeps session settings. @throws the error that a missing schema would cause later */
async function assertSessionPersists(client: PoolClient, pool: Pool): Promise<void> {
  await client.query("set mediactl.trial to 'one'");
  const other = await pool.connect();
  await other.query("set mediactl.trial to 'other'").finally(() => other.release(true));
  const { rows } = await client.query("select current_setting('mediactl.trial', true) as trial");
  if (rows[0].trial === 'one') return;
  const message = 'each statement uses another connection, as with pool_mode=transaction';
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
