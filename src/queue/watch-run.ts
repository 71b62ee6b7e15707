import { CodedError } from '../client/errors.ts';
import type { BatchRun, RunResult } from '../client/upload/batch/batch-uploader.ts';
import { emptyPlan } from '../client/upload/batch/plan.ts';
import type { RunEvent } from '../client/upload/session/events.ts';
import type { FileOutcome } from '../client/upload/session/file-outcome.ts';
import { Channel } from '../shared/channel.ts';
import { pluralize } from '../shared/figures.ts';
import { asNumber, asObject } from '../shared/json-values.ts';
import { JobTracker, type JobTrackerDeps } from './job-tracker.ts';
import { displayPathOf, listJobs } from './jobs.ts';
import type { QueueClient, QueueJob } from './queue-client.ts';
import { countUnfinished } from './queue-status.ts';
import type { TaskProgress } from './task.ts';

type WatchRunDeps = Pick<JobTrackerDeps, 'clock' | 'signal' | 'onEvent'> & {
  onPlanned(planned: RunEvent): void;
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
  /** Ids of the files with an outcome, or that are no longer in the queue after they were started. True if it failed. */
  readonly #finished = new Map<string, boolean>();
  /** Number of files that were seen, in the queue or finished. */
  #seen = 0;
  #stopReason: CodedError | undefined;

  constructor(client: QueueClient, deps: WatchRunDeps) {
    this.#client = client;
    this.#deps = deps;
  }

  get result(): RunResult {
    return { plan: this.#plan, stopReason: this.#stopReason, remaining: this.#unfinished };
  }

  outcomes(): AsyncGenerator<FileOutcome[]> {
    return this.#outcomes.streamWhile(() => this.#watch());
  }

  async #watch(): Promise<void> {
    const { signal } = this.#deps;
    const tracker: JobTracker = await JobTracker.open(this.#client, {
      ...this.#deps,
      onOutcome: (outcome) => {
        this.#finished.set(outcome.jobId as string, outcome.error !== undefined);
        this.#outcomes.push(outcome);
      },
      onRead: async (ids, hasGap) => {
        // What has finished meanwhile is not known, so that a file that is gone now may have been uploaded.
        if (hasGap) this.#seen = 0;
        const jobs = await Promise.all(ids.map((id) => this.#client.findJob(id)));
        for (const [at, job] of jobs.entries()) this.#onUntracked(tracker, ids[at] as string, job);
      },
    });
    for await (const jobs of listJobs(this.#client, 'active'))
      for (const job of jobs) this.#track(tracker, job, { worker: '', offset: 0, ...asObject(job.progress) });
    const isDone = async () => {
      await this.#count();
      return this.#unfinished === 0 && tracker.size === 0;
    };
    try {
      await tracker.follow(isDone);
    } catch (error) {
      if (!signal.aborted) throw error;
      return;
    }
    const lost = this.#seen - this.#finished.size;
    if (lost > 0) this.#stopReason = lostFiles(lost, this.#seen);
  }

  #onUntracked(tracker: JobTracker, id: string, job: QueueJob | undefined): void {
    // A file that failed, and is retried, was counted twice: as finished, and as unfinished.
    if (this.#finished.get(id)) {
      this.#finished.delete(id);
      this.#seen--;
    }
    if (job) this.#track(tracker, job);
    else this.#finished.set(id, false);
  }

  /** Counts the unfinished files, and reports the total if it has changed. */
  async #count(): Promise<void> {
    const { clock, onPlanned } = this.#deps;
    // At the end, files are counted once more: their outcomes may have come after the last count.
    if (clock.now() < this.#nextCountAt && this.#unfinished > 0) return;
    this.#unfinished = await countUnfinished(this.#client);
    this.#nextCountAt = clock.now() + countIntervalMs;
    const { new: planned } = this.#plan.totals;
    const total = this.#finished.size + this.#unfinished;
    this.#seen = Math.max(this.#seen, total);
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

const lostFiles = (lost: number, seen: number) =>
  new CodedError(`${lost} of ${pluralize(seen, 'file')} disappeared from the queue and did not get uploaded`, {
    code: 'partial_failure',
    reason: 'its store has lost them, or they were removed',
    hint: 'queue the files again; those that are uploaded are not sent twice',
  });
