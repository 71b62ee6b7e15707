import { asNumber, asObject, asText } from '../../contract/json-values.ts';
import type { Clock } from '../clock.ts';
import type { BatchRun, RunResult } from '../upload/batch/batch-uploader.ts';
import { Channel } from '../upload/batch/channel.ts';
import { emptyPlan } from '../upload/batch/plan.ts';
import type { OnUploadEvent, RunEvent } from '../upload/session/events.ts';
import type { FileOutcome } from '../upload/session/file-outcome.ts';
import type { Fleet, UploadJobOfQueue } from './fleet.ts';
import { Follower } from './follower.ts';
import { jobsIn, queueCounts } from './jobs.ts';
import { pathOf } from './results.ts';
import type { TaskProgress } from './task.ts';

type WatchTools = {
  clock: Clock;
  signal: AbortSignal;
  onEvent: OnUploadEvent;
  onPlanned(planned: RunEvent & { event: 'planned' }): void;
};

/** States of unfinished jobs, in the order in which a job passes through them: none is missed between two lists. */
const pending = ['delayed', 'waiting', 'prioritized', 'active'] as const;
/** Number of polls without a new job after which to stop. Unfinished jobs that are never listed change their state, or are unreadable. */
const vainLists = 3;
const listAgainMs = 300;

/** Watches a queue until it has no unfinished jobs. */
export class WatchRun implements BatchRun {
  readonly #fleet: Fleet;
  readonly #tools: WatchTools;
  readonly #outcomes = new Channel<FileOutcome>();
  readonly #plan = emptyPlan();
  #left = 0;

  constructor(fleet: Fleet, tools: WatchTools) {
    this.#fleet = fleet;
    this.#tools = tools;
  }

  get result(): RunResult {
    return { plan: this.#plan, stopReason: undefined, remaining: this.#left };
  }

  outcomes(): AsyncGenerator<FileOutcome[]> {
    return this.#outcomes.streamWhile(() => this.#watch());
  }

  async #watch(): Promise<void> {
    const { clock, signal, onEvent } = this.#tools;
    const follower: Follower = await Follower.open(this.#fleet, this.#tools, {
      onEvent,
      onOutcome: (outcome) => this.#outcomes.push(outcome),
      onAdded: (id) => void this.#came(follower, id).catch(() => {}), // the store is down: a later poll finds it
    });
    try {
      for (let vain = 0; vain < vainLists; ) {
        vain = (await this.#list(follower)) ? 0 : vain + 1;
        await follower.untilNoneIsLeft();
        const { unfinished } = await this.#fleet.patiently(() => queueCounts(this.#fleet));
        if (unfinished === 0) return;
        await clock.sleep(listAgainMs, signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
      this.#left = follower.size;
    }
  }

  /** Tracks all unfinished jobs. @returns whether one of them is new */
  async #list(follower: Follower): Promise<boolean> {
    const { files } = this.#plan.new;
    for (const state of pending)
      for await (const jobs of jobsIn(this.#fleet, state))
        for (const job of jobs) this.#add(follower, job, state === 'active');
    return this.#plan.new.files > files;
  }

  /** Tracks a job that was added. It may be active already. */
  async #came(follower: Follower, id: string): Promise<void> {
    const job = await this.#fleet.queue.getJob(id);
    if (job) this.#add(follower, job, await job.isActive());
  }

  #add(follower: Follower, job: UploadJobOfQueue, isActive: boolean): void {
    const id = job.id as string;
    const isNew = !follower.has(id);
    if (job.finishedOn || !(isNew || isActive)) return;
    const { sizeBytes, workspace } = asObject(job.data);
    const bytes = asNumber(sizeBytes) ?? 0;
    const { new: planned } = this.#plan;
    if (isNew) {
      planned.files++;
      planned.bytes += bytes;
      this.#tools.onPlanned({ event: 'planned', ...planned, there: 0 });
    }
    const progress = { worker: '', offset: 0, ...asObject(job.progress) } as TaskProgress;
    const file = { path: pathOf(job), workspace: asText(workspace) ?? '', sizeBytes: bytes };
    follower.add(id, file, isActive ? progress : undefined);
  }
}
