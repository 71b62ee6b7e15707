import { Job } from 'bullmq';
import { Client, Pool, type PoolClient } from 'pg';

export {
  assertSchemaCompatibility,
  createPostgresBackend,
  LATEST_SCHEMA_VERSION,
  Queue,
  QueueEvents,
  runMigrations,
  SchemaMigrationRequiredError,
  UnrecoverableError,
  WaitingError,
  Worker,
} from 'bullmq';
export { Redis } from 'ioredis';

const fromJSON = Job.fromJSON.bind(Job);
/** Another program may have written what is no JSON: no upload, but it can be listed and removed. */
Job.fromJSON = (queue, json, id) => {
  try {
    return fromJSON(queue, json, id);
  } catch {
    return fromJSON(queue, { ...json, data: 'null' }, id);
  }
};

/**
 * A connection that breaks tells whoever asked it something. pg emits an error besides, which ends the
 * process where nobody listens: in the middle of a transaction of the engine's, nobody does.
 */
export class QuietClient extends Client {
  override emit(event: string | symbol, ...given: unknown[]): boolean {
    if (event === 'error' && this.listenerCount('error') === 0) return false;
    return super.emit(event as 'error', ...(given as [Error]));
  }
}

type Done = Parameters<Pool['connect']>[0];

/** A pool whose connections may be waited for: the engine would ask again at once, without a pause. */
export class WaitingPool extends Pool {
  /** Until it is set, whoever asks is told at once of a server that is away. */
  waitOut = (connect: () => Promise<PoolClient>): Promise<PoolClient> => connect();

  /** Rejects while the server is away, or `use` fails. */
  async probe(use: (client: PoolClient) => Promise<unknown>): Promise<void> {
    const client = await super.connect();
    let failure: Error | undefined;
    try {
      await use(client); // it may have been idle since the server was there
    } catch (error) {
      failure = error as Error;
      throw error;
    } finally {
      client.release(failure);
    }
  }

  override connect(): Promise<PoolClient>;
  override connect(done: Done): void;
  override connect(done?: Done): Promise<PoolClient> | undefined {
    const connected = this.waitOut(() => super.connect());
    if (!done) return connected;
    connected.then(
      (client) => done(undefined, client, client.release.bind(client)),
      (error) => done(error, undefined, () => {}),
    );
    return undefined;
  }
}
