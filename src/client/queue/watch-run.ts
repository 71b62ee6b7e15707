import { asNumber, asObject, asText } from '../../contract/json-values.ts';
import { pollUntil } from '../../contract/retry.ts';
import type { BatchRun, RunResult } from '../upload/batch/batch-uploader.ts';
import { Channel } from '../upload/batch/channel.ts';
import { emptyPlan } from '../upload/batch/plan.ts';
import type { RunEvent } from '../upload/session/events.ts';
import type { FileOutcome } from '../upload/session/upload-job.ts';
import { JobTracker, type JobTrackerDeps } from './job-tracker.ts';
import { countJobs, displayPathOf, listJobs } from './jobs.ts';
import type { QueueClient, QueueJob } from './queue-client.ts';
import type { TaskProgress } from './task.ts';

type WatchRunDeps = Pick<JobTrackerDeps, 'clock' | 'signal' | 'onEvent'> & {
  onPlanned(planned: RunEvent & { event: 'planned' }): void;
};

/** States of unfinished jobs, listed in the order in which jobs pass through them, so that no moving job is missed. */
const pendingStates = ['delayed', 'waiting', 'prioritized', 'active'] as const;
/** Number of consecutive polls without a new job after which the run ends, even if unlisted jobs seem unfinished. */
const maxEmptyPolls = 3;
const pollIntervalMs = 300;

/** Watches a queue until it has no unfinished jobs. */
export class WatchRun implements BatchRun {
  readonly #client: QueueClient;
  readonly #deps: WatchRunDeps;
  readonly #outcomes = new Channel<FileOutcome>();
  readonly #plan = emptyPlan();
  #remaining = 0;

  constructor(client: QueueClient, deps: WatchRunDeps) {
    this.#client = client;
    this.#deps = deps;
  }

  get result(): RunResult {
    return { plan: this.#plan, stopReason: undefined, remaining: this.#remaining };
  }

  outcomes(): AsyncGenerator<FileOutcome[]> {
    return this.#outcomes.streamWhile(() => this.#watch());
  }

  async #watch(): Promise<void> {
    const { clock, signal } = this.#deps;
    const tracker: JobTracker = await JobTracker.open(this.#client, {
      ...this.#deps,
      onOutcome: (outcome) => this.#outcomes.push(outcome),
      onAdded: (id) => void this.#onAdded(tracker, id).catch(() => {}), // the store is down; a later poll finds the job
    });
    let emptyPolls = 0;
    const isOver = async () => {
      emptyPolls = (await this.#trackPending(tracker)) ? 0 : emptyPolls + 1;
      await tracker.waitUntilDone();
      const { unfinished } = await this.#client.withRetry(() => countJobs(this.#client));
      return unfinished === 0 || emptyPolls === maxEmptyPolls || undefined;
    };
    await pollUntil(signal, isOver, { clock, intervalMs: pollIntervalMs }).catch((error) => {
      if (!signal.aborted) throw error;
      this.#remaining = tracker.size;
    });
  }

  /** Tracks all unfinished jobs. @returns true if at least one job is new */
  async #trackPending(tracker: JobTracker): Promise<boolean> {
    const { files } = this.#plan.new;
    for (const state of pendingStates)
      for await (const jobs of listJobs(this.#client, state))
        for (const job of jobs) this.#add(tracker, job, state === 'active');
    return this.#plan.new.files > files;
  }

  /** Tracks a job that was added, which might already be active. */
  async #onAdded(tracker: JobTracker, id: string): Promise<void> {
    const job = await this.#client.queue.getJob(id);
    if (job) this.#add(tracker, job, await job.isActive());
  }

  #add(tracker: JobTracker, job: QueueJob, isActive: boolean): void {
    const id = job.id as string;
    const isNew = !tracker.has(id);
    if (job.finishedOn || !(isNew || isActive)) return;
    const { sizeBytes, workspace } = asObject(job.data);
    const bytes = asNumber(sizeBytes) ?? 0;
    const { new: planned } = this.#plan;
    if (isNew) {
      planned.files++;
      planned.bytes += bytes;
      this.#deps.onPlanned({
        event: 'planned',
        files_total: planned.files,
        bytes_total: planned.bytes,
        files_skipped: 0,
      });
    }
    const progress = { worker: '', offset: 0, ...asObject(job.progress) } as TaskProgress;
    const file = { path: displayPathOf(job), workspace: asText(workspace) ?? '', sizeBytes: bytes };
    tracker.add(id, file, isActive ? progress : undefined);
  }
}
