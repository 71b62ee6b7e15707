import { Job, Worker } from 'bullmq';
import { Client, Pool, type PoolClient } from 'pg';

export {
  assertSchemaCompatibility,
  createPostgresBackend,
  LATEST_SCHEMA_VERSION,
  Queue,
  runMigrations,
  SchemaMigrationRequiredError,
  UnrecoverableError,
  WaitingError,
} from 'bullmq';
export { Redis } from 'ioredis';

const fromJSON = Job.fromJSON.bind(Job);
/** Reads invalid job data as `null`, so that jobs that another program wrote can still be listed and removed. */
Job.fromJSON = (queue, json, id) => {
  try {
    return fromJSON(queue, json, id);
  } catch {
    return fromJSON(queue, { ...json, data: 'null' }, id);
  }
};

/**
 * A BullMQ worker whose caller decides when to fetch a job, since it shares its upload slots with the workers of
 * other roots.
 */
export class PullWorker<Data, Result> extends Worker<Data, Result> {
  /** Starts to renew the locks of its jobs, and to look for jobs of crashed workers. */
  async start(): Promise<void> {
    await this.startStalledCheckTimer();
    this.lockManager.start();
  }

  /** Processes a job from `getNextJob`, and moves it to its next state. */
  async process(job: Job<Data, Result>): Promise<void> {
    await this.processJob(job, job.token as string, () => false);
  }
}

/**
 * A pg client that ignores `error` events if there is no listener. A dropped connection rejects the pending query
 * and also emits `error`, which would end the process because BullMQ's transactions add no listener.
 */
export class QuietClient extends Client {
  override emit(event: string | symbol, ...args: unknown[]): boolean {
    if (event === 'error' && this.listenerCount('error') === 0) return false;
    return super.emit(event as 'error', ...(args as [Error]));
  }
}

type ConnectCallback = Parameters<Pool['connect']>[0];

/** A pg pool that can retry failed connects. BullMQ itself would retry at once, without a backoff. */
export class RetryingPool extends Pool {
  /** Wraps each connect to retry it. The default does not retry, so the first connect fails if the server is down. */
  retryConnect = (connect: () => Promise<PoolClient>): Promise<PoolClient> => connect();

  /** Runs `use` on a connection, without a retry. Rejects if the server is down or `use` fails. */
  async probe(use: (client: PoolClient) => Promise<unknown>): Promise<void> {
    const client = await super.connect();
    const release = (error?: Error) => client.release(error); // an idle connection might be dead
    await use(client).then(
      () => release(),
      (error) => {
        release(error);
        throw error;
      },
    );
  }

  override connect(): Promise<PoolClient>;
  override connect(done: ConnectCallback): void;
  override connect(done?: ConnectCallback): Promise<PoolClient> | undefined {
    const connected = this.retryConnect(() => super.connect());
    if (!done) return connected;
    connected.then(
      (client) => done(undefined, client, client.release.bind(client)),
      (error) => done(error, undefined, () => {}),
    );
    return undefined;
  }
}
