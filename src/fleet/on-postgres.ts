import type { Queue, QueueEvents, Worker } from 'bullmq';
import { MediactlError } from '../errors.ts';
import type { QueueAddress } from '../settings/queue-address.ts';
import type { Fleet, FleetTools } from './fleet.ts';
import { closeMs, connectMs, ended, kept, type Opened, quiet, unreachable } from './opened.ts';
import { atMost, patiently, waitingStore } from './patience.ts';
import { postgresStore, postgresTables } from './store.ts';
import type { TaskResult, UploadTask } from './task.ts';

/** It has a hundred for everybody: two may listen, the others ask briefly. */
const connections = 6;

export async function onPostgres(address: QueueAddress, tools: FleetTools): Promise<Fleet> {
  const { clock } = tools;
  const engine = await import('./engine.lazy.ts');
  const wait = <T>(ask: () => Promise<T>) => patiently(ask, tools);
  const { name, href } = address;
  const pool = new engine.Pool({
    connectionString: href,
    connectionTimeoutMillis: connectMs,
    keepAlive: true,
    max: connections,
    options: '-c search_path=bullmq', // as the engine calls its schema
    Client: engine.QuietClient,
  });
  // Of a connection that nobody uses: whoever asks next is to wait.
  pool.on('error', () => void patiently(() => pool.query('select 1'), tools).catch(() => {}));
  try {
    const client = await pool.connect();
    let server = '';
    try {
      // Whoever only works with them need not own them.
      await engine
        .assertSchemaCompatibility(client, 'bullmq')
        .catch(() => engine.runMigrations(client));
      const { rows } = await client.query("select to_regclass('mediactl.uploads') as uploads");
      if (rows[0].uploads === null) await client.query(postgresTables);
      server = String((await client.query('show server_version')).rows[0].server_version);
    } finally {
      client.release();
    }
    const backend = engine.createPostgresBackend;
    const connection = pool as never;
    const queue = new engine.Queue<UploadTask, TaskResult>(name, { connection }, backend as never);
    const opened: Opened[] = [queue];
    quiet(queue);
    return {
      address,
      health: { server: `postgresql ${server}`, doubt: undefined },
      store: waitingStore(postgresStore(pool, name), wait),
      patiently: wait,
      queue: queue as unknown as Queue<UploadTask, TaskResult>,
      worker: (perform, options) =>
        kept(
          new engine.Worker(name, perform, { ...options, connection }, backend as never),
          opened,
        ) as unknown as Worker<UploadTask, TaskResult>,
      events: () =>
        kept(
          quiet(new engine.QueueEvents(name, { connection }, backend as never)),
          opened,
        ) as unknown as QueueEvents,
      handedBack: () => new engine.WaitingError(),
      unrecoverable: (message) => new engine.UnrecoverableError(message),
      close: async () => {
        await ended(opened, clock);
        await atMost(closeMs, clock, pool.end());
      },
    };
  } catch (error) {
    await pool.end().catch(() => {}); // what it ends with matters less than why
    throw error instanceof MediactlError ? error : unreachable(address, error);
  }
}
