import { Client } from 'pg';

export {
  assertSchemaCompatibility,
  createPostgresBackend,
  Queue,
  QueueEvents,
  runMigrations,
  UnrecoverableError,
  WaitingError,
  Worker,
} from 'bullmq';
export { Redis } from 'ioredis';
export { Pool } from 'pg';

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
