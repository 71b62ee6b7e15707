import { Job, Worker } from 'bullmq';

export { Queue, UnrecoverableError, WaitingError } from 'bullmq';
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
