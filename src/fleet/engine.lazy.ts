export {
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
