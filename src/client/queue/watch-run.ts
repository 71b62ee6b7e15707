import { asNumber, asObject } from '../../contract/json-values.ts';
import type { BatchRun, RunResult } from '../upload/batch/batch-uploader.ts';
import { Channel } from '../upload/batch/channel.ts';
import { emptyPlan } from '../upload/batch/plan.ts';
import type { RunEvent } from '../upload/session/events.ts';
import type { FileOutcome } from '../upload/session/file-outcome.ts';
import { JobTracker, type JobTrackerDeps } from './job-tracker.ts';
import { countUnfinished, displayPathOf, listJobs } from './jobs.ts';
import type { QueueClient, QueueJob } from './queue-client.ts';
import type { TaskProgress } from './task.ts';

type WatchRunDeps = Pick<JobTrackerDeps, 'clock' | 'signal' | 'onEvent'> & {
  onPlanned(planned: RunEvent & { event: 'planned' }): void;
};

const countIntervalMs = 1_000;

/** Watches a queue until it has no unfinished files. Reads only the files that workers start, and a count of the rest. */
export class WatchRun implements BatchRun {
  readonly #client: QueueClient;
  readonly #deps: WatchRunDeps;
  readonly #outcomes = new Channel<FileOutcome>();
  readonly #plan = emptyPlan();
  #unfinished = 0;
  #nextCountAt = Number.NEGATIVE_INFINITY;
  #finished = 0;

  constructor(client: QueueClient, deps: WatchRunDeps) {
    this.#client = client;
    this.#deps = deps;
  }

  get result(): RunResult {
    return { plan: this.#plan, stopReason: undefined, remaining: this.#unfinished };
  }

  outcomes(): AsyncGenerator<FileOutcome[]> {
    return this.#outcomes.streamWhile(() => this.#watch());
  }

  async #watch(): Promise<void> {
    const { signal } = this.#deps;
    const tracker: JobTracker = await JobTracker.open(this.#client, {
      ...this.#deps,
      onOutcome: (outcome) => {
        this.#finished++;
        this.#outcomes.push(outcome);
      },
      onUntracked: async (ids) => {
        const jobs = await Promise.all(ids.map((id) => this.#client.findJob(id)));
        for (const job of jobs) if (job) this.#track(tracker, job);
      },
    });
    for await (const jobs of listJobs(this.#client, 'active'))
      for (const job of jobs) this.#track(tracker, job, { worker: '', offset: 0, ...asObject(job.progress) });
    const isDone = async () => {
      await this.#count();
      return this.#unfinished === 0 && tracker.size === 0;
    };
    await tracker.follow(isDone).catch((error) => {
      if (!signal.aborted) throw error;
    });
  }

  /** Counts the unfinished files, and reports the total if it has changed. */
  async #count(): Promise<void> {
    const { clock, onPlanned } = this.#deps;
    if (clock.now() < this.#nextCountAt) return;
    this.#unfinished = await countUnfinished(this.#client);
    this.#nextCountAt = clock.now() + countIntervalMs;
    const { new: planned } = this.#plan.totals;
    const total = this.#finished + this.#unfinished;
    if (total === planned.files) return;
    planned.files = total;
    onPlanned({ event: 'planned', files_total: total, bytes_total: 0, files_skipped: 0 });
  }

  #track(tracker: JobTracker, job: QueueJob, progress?: TaskProgress): void {
    const { sizeBytes } = asObject(job.data);
    const file = { path: displayPathOf(job), sizeBytes: asNumber(sizeBytes) ?? 0 };
    tracker.add(job.id as string, file, progress);
  }
}
