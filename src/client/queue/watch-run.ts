import { fieldsIn, numberIn, textIn } from '../../contract/reading.ts';
import type { Clock } from '../clock.ts';
import { Channel } from '../upload/batch/channel.ts';
import { emptyPlan } from '../upload/batch/plan.ts';
import type { Run, RunEnd } from '../upload/batch/run.ts';
import type { OnUploadEvent, RunEvent } from '../upload/session/events.ts';
import type { FileOutcome } from '../upload/session/outcome.ts';
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

/** In which a file may be that something is yet to become of; in the order of its way through them. */
const pending = ['delayed', 'waiting', 'prioritized', 'active'] as const;
/** One that no list shows may be on its way from one state to the next, or may not be read at all. */
const vainLists = 3;
const listAgainMs = 300;

/** Watches a queue until nothing is left in it. */
export class WatchRun implements Run {
  readonly #fleet: Fleet;
  readonly #tools: WatchTools;
  readonly #outcomes = new Channel<FileOutcome>();
  readonly #plan = emptyPlan();
  #left = 0;

  constructor(fleet: Fleet, tools: WatchTools) {
    this.#fleet = fleet;
    this.#tools = tools;
  }

  get end(): RunEnd {
    return { plan: this.#plan, stop: undefined, left: this.#left };
  }

  outcomes(): AsyncGenerator<FileOutcome[]> {
    return this.#outcomes.during(() => this.#watch());
  }

  async #watch(): Promise<void> {
    const { clock, signal, onEvent } = this.#tools;
    const follower: Follower = await Follower.open(this.#fleet, this.#tools, {
      onEvent,
      onOutcome: (outcome) => this.#outcomes.push(outcome),
      onAdded: (id) => void this.#came(follower, id).catch(() => {}), // the store is away: it is asked again
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

  /** @returns whether there is one that was not followed */
  async #list(follower: Follower): Promise<boolean> {
    const { files } = this.#plan.new;
    for (const state of pending)
      for await (const jobs of jobsIn(this.#fleet, state))
        for (const job of jobs) this.#add(follower, job, state === 'active');
    return this.#plan.new.files > files;
  }

  /** It may be in a worker's hands by the time that somebody hears of it. */
  async #came(follower: Follower, id: string): Promise<void> {
    const job = await this.#fleet.queue.getJob(id);
    if (job) this.#add(follower, job, await job.isActive());
  }

  #add(follower: Follower, job: UploadJobOfQueue, isActive: boolean): void {
    const id = job.id as string;
    const isNew = !follower.has(id);
    if (job.finishedOn || !(isNew || isActive)) return;
    const { sizeBytes, workspace } = fieldsIn(job.data);
    const bytes = numberIn(sizeBytes) ?? 0;
    const { new: planned } = this.#plan;
    if (isNew) {
      planned.files++;
      planned.bytes += bytes;
      this.#tools.onPlanned({ event: 'planned', ...planned, there: 0 });
    }
    const progress = { worker: '', offset: 0, ...fieldsIn(job.progress) } as TaskProgress;
    const file = { path: pathOf(job), workspace: textIn(workspace) ?? '', sizeBytes: bytes };
    follower.add(id, file, isActive ? progress : undefined);
  }
}
