import { asMediactlError, type ErrorRecord, type MediactlError } from '../errors.ts';
import { Channel } from '../upload/batch/channel.ts';
import type { RunEvent } from '../upload/session/events.ts';
import type { FileOutcome } from '../upload/session/outcome.ts';
import { isAddress, letsIn, readAddress } from '../upload/sources/source-address.ts';
import { attempt, type WorkTools } from './attempt.ts';
import { fateOf } from './fates.ts';
import type { Fleet, UploadJobOfQueue } from './fleet.ts';
import { Health, paused } from './health.ts';
import { Lease } from './lease.ts';
import { leftToOthers, missedBy } from './missed.ts';
import { atMost, untilOver } from './patience.ts';
import { failureIn, pathOf, receiptIn, resultOf } from './results.ts';
import { type TaskProgress, type TaskResult, taskIn, type UploadTask } from './task.ts';

export type WorkOptions = {
  /** What others call this worker. */
  name: string;
  /** Files at a time. */
  concurrency: number;
  /** Milliseconds of silence after which another worker takes over. */
  leaseMs: number;
  /** Deaths of workers after which a file is given up. */
  maxStalls: number;
  idleTimeoutMs: number;
  marks: boolean;
};

type Tools = WorkTools & {
  onPlanned(planned: RunEvent & { event: 'planned' }): void;
  warn(text: string): void;
};

const progressEveryMs = 1_000;
const retryAskMs = 1_000;
const longestCloseMs = 10_000;
const lookEverySeconds = 1;
/** Results that are written again to another server: of more time than a replica may be behind by. */
const recentMs = 10 * 60_000;
const maxRecent = 10_000;
/** Other workers write theirs again meanwhile. */
const othersRestoreMs = 5_000;
/** Tries that do not find a file before it fails. */
const maxMisses = 3;

/** Takes files off a queue until it is told to stop. What became of each comes as it happens. */
export class WorkerRun {
  readonly #fleet: Fleet;
  readonly #options: WorkOptions;
  readonly #tools: Tools;
  /** What may leave this machine: keys and tokens do not. */
  readonly #redact: (record: ErrorRecord) => ErrorRecord;
  readonly #outcomes = new Channel<FileOutcome>();
  readonly #leases = new Map<string, Lease>();
  /** Of attempts whose failure the queue has not heard of yet. */
  readonly #failed = new Map<string, FileOutcome>();
  readonly #ended = new AbortController();
  /** The newest results of this worker, by job, the oldest first. */
  readonly #recent = new Map<string, { at: number; receipt: string }>();
  /** How often another server took the store's place. */
  #servers = 0;
  /** Resolves once results are back in such a server. */
  #restored: Promise<void> = Promise.resolve();
  readonly #planned = { files: 0, bytes: 0 };
  readonly #health: Health;
  /** Aborts when this worker pauses or ends. */
  #over = this.#ended.signal;
  /** What ended it before it was told to: its key. */
  failure: MediactlError | undefined;
  /** Files that others continue. */
  handedBack = 0;

  constructor(
    fleet: Fleet,
    options: WorkOptions,
    tools: Tools,
    redact: (record: ErrorRecord) => ErrorRecord,
  ) {
    this.#fleet = fleet;
    this.#options = options;
    this.#tools = tools;
    this.#redact = redact;
    const { roots, warn, api } = tools;
    const { clock } = api.transport;
    this.#health = new Health(fleet, { roots, warn, clock, leaseMs: options.leaseMs });
  }

  outcomes(): AsyncGenerator<FileOutcome[]> {
    return this.#outcomes.during(
      () => this.#work(),
      () => this.#ended.abort(paused),
    );
  }

  async #work(): Promise<void> {
    const over = AbortSignal.any([this.#tools.signal, this.#ended.signal]);
    const { refused } = this.#fleet;
    refused.addEventListener('abort', () => this.#endWith(refused.reason));
    if (refused.aborted) this.#endWith(refused.reason);
    this.#fleet.onReturn((isOther) => {
      const before = this.#restored;
      this.#restored = isOther
        .then((is) => (is ? this.#restore(over) : undefined))
        .catch(() => {}) // away again: it is heard of again
        .then(() => before);
    });
    while (!over.aborted) {
      this.#over = await this.#health.untilSound(over);
      if (!over.aborted) await this.#takeFiles(this.#over);
    }
  }

  async #takeFiles(over: AbortSignal): Promise<void> {
    const { name, concurrency, leaseMs, maxStalls } = this.#options;
    const perform = (job: UploadJobOfQueue, token?: string) => this.#perform(job, token);
    const engine = this.#fleet.worker(perform, {
      ...{ name, lockDuration: leaseMs, maxStalledCount: maxStalls },
      concurrency: this.#health.isOnProbation ? 1 : concurrency,
      // A dead worker's file is seen to be so at the second look.
      stalledInterval: Math.max(500, Math.floor(leaseMs / 2)),
      runRetryDelay: retryAskMs,
      // A frozen worker may take the word that there is work: the others look by themselves.
      drainDelay: lookEverySeconds,
    });
    const worker = await engine.catch((thrown) => {
      if (over.aborted) return undefined; // told to end before the store was there
      throw thrown;
    });
    if (!worker) return;
    worker.on('locksRenewed', ({ jobIds }) => {
      for (const id of jobIds) this.#leases.get(id)?.renewed();
    });
    worker.on('lockRenewalFailed', (ids) => {
      for (const id of ids) this.#leases.get(id)?.lost();
    });
    worker.on('completed', () => {
      this.#health.succeeded();
      worker.concurrency = concurrency;
    });
    worker.on('failed', (job, error) => {
      if (job) this.#heardOf(job, error);
    });
    const { clock } = this.#tools.api.transport;
    void untilOver(() => worker.run(), retryAskMs, { clock, signal: over });
    void this.#health.keepChecking(over);
    await this.#watchLeases(over);
    // What a store that is away does not hear, the end of the lease tells.
    const idle = worker.pause().catch(() => {});
    await atMost(this.#fleet.isAway ? 0 : longestCloseMs, clock, idle);
    void worker.close(true).catch(() => {}); // whatever it has under way yet: the fleet waits for that
  }

  #endWith(failure: MediactlError): void {
    this.failure ??= failure;
    this.#ended.abort(paused);
  }

  /** Writes recent results again to a server that may be behind, and lets other workers do the same. */
  async #restore(over: AbortSignal): Promise<void> {
    this.#servers++;
    const { clock } = this.#tools.api.transport;
    const since = clock.now() - recentMs;
    try {
      for (const [id, { at, receipt }] of this.#recent)
        if (at > since) await this.#fleet.store.restore(id, receipt);
      await clock.sleep(othersRestoreMs, over);
    } catch (error) {
      if (!over.aborted) this.#endWith(asMediactlError(error));
    }
  }

  /** Cuts what is under way for a lease that is over. Resolves once the signal aborts. */
  async #watchLeases(over: AbortSignal): Promise<void> {
    const { clock } = this.#tools.api.transport;
    while (!over.aborted) {
      await clock.sleep(this.#options.leaseMs / 4, over).catch(() => {});
      for (const lease of this.#leases.values()) if (!lease.isHeld) lease.lost();
    }
  }

  /** @returns what the queue keeps of it @throws for the queue, what is to become of the job */
  async #perform(job: UploadJobOfQueue, token: string | undefined): Promise<TaskResult> {
    const { clock } = this.#tools.api.transport;
    const startedAt = clock.now();
    const id = job.id as string;
    const signal = this.#over;
    // It was on its way when this worker was told to end, or paused.
    if (signal.aborted) throw await this.#handBack(job, token);
    const { name, leaseMs } = this.#options;
    if (await leftToOthers(this.#fleet, job, token, { name, leaseMs, clock, signal }))
      throw this.#fleet.handedBack();
    const outcome: FileOutcome = {
      ...{ job: { path: id, workspace: '' }, path: id, queueId: id, requests: 0, durationMs: 0 },
    };
    let lease: Lease | undefined;
    try {
      const task = taskIn(job.data);
      outcome.job = { path: task.path, workspace: task.workspace };
      outcome.path = task.path;
      lease = new Lease(clock, this.#options.leaseMs, task.path);
      this.#leases.get(id)?.lost(); // of an attempt that this very process has lost
      this.#leases.set(id, lease);
      await this.#restored;
      lease.assertHeld();
      const servers = this.#servers;
      const claim = await this.#fleet.store.claim(id);
      // Done, and its worker died before the queue heard of it.
      const before = receiptIn(claim.receipt);
      if (before) {
        await forgetSecret(job, task);
        return before;
      }
      this.#taken(task);
      const attempted = await attempt(
        id,
        task,
        { claim, lease, store: this.#fleet.store, label: this.#fleet.address.label },
        {
          idleTimeoutMs: this.#options.idleTimeoutMs,
          marks: this.#options.marks,
          isRepeated: job.attemptsStarted > 1,
          queuedAt: job.timestamp,
        },
        { ...this.#tools, onEvent: this.#telling(job), signal },
      );
      const durationMs = clock.now() - startedAt;
      const { uploaded, requests, removed } = attempted;
      const { name: worker } = this.#options;
      const result = resultOf(uploaded, { worker, requests, duration_ms: durationMs, removed });
      const receipt = JSON.stringify(result);
      this.#recent.set(id, { at: clock.now(), receipt });
      const [[oldest = ''] = []] = this.#recent;
      if (this.#recent.size > maxRecent) this.#recent.delete(oldest);
      const { store } = this.#fleet;
      if (!lease.isHeld || !(await store.finish(id, claim.fence, receipt))) {
        await this.#restored;
        if (servers === this.#servers) throw lease.lost();
        await store.restore(id, receipt); // another server, which may not know of the claim
      }
      await forgetSecret(job, task);
      this.#tell({ ...outcome, uploaded, requests, durationMs });
      return result;
    } catch (thrown) {
      outcome.durationMs = clock.now() - startedAt;
      throw await this.#fateOf(job, token, outcome, asMediactlError(thrown));
    } finally {
      if (lease && this.#leases.get(id) === lease) this.#leases.delete(id);
    }
  }

  /** Sees to the job as its failure asks for. @returns what tells the queue */
  async #fateOf(
    job: UploadJobOfQueue,
    token: string | undefined,
    outcome: FileOutcome,
    error: MediactlError,
  ): Promise<Error> {
    const record = this.#redact(error.toJSON());
    const said = JSON.stringify(record);
    let fate = fateOf(error);
    if (fate === 'lost') {
      this.#notice(
        outcome,
        'this worker was not heard of for longer than --lease: left to the next',
      );
      return new Error(said);
    }
    const { name: worker } = this.#options;
    const { queue, patiently } = this.#fleet;
    const missed = missedBy(job);
    if (fate === 'elsewhere') missed.push(worker);
    if (fate === 'elsewhere' || fate === 'again') this.#health.failed(error);
    if (fate === 'elsewhere')
      fate = missed.length < maxMisses || error.explanation.retryable ? 'again' : 'file';
    const progress: TaskProgress = { worker, offset: 0, error: record, missedBy: missed };
    if (fate !== 'back') await patiently(() => job.updateProgress(progress));
    if (fate === 'worker') this.#endWith(error);
    if (fate === 'pause') this.#health.pause(error);
    // Of a file that ends one worker after another, nobody waits for the end: each counts as a try.
    if (fate === 'again' || fate === 'file' || fate === 'worker') {
      this.#failed.set(job.id as string, { ...outcome, error });
      return fate === 'file' ? this.#fleet.unrecoverable(said) : new Error(said);
    }
    if (fate === 'queue') {
      await patiently(() => queue.pause());
      this.#notice(
        outcome,
        `${error.message}: the queue is paused until mediactl uploads retry --all`,
      );
    }
    const back = await this.#handBack(job, token);
    this.handedBack++;
    return back;
  }

  async #handBack(job: UploadJobOfQueue, token: string | undefined): Promise<Error> {
    await this.#fleet.patiently(() => job.moveToWait(token));
    return this.#fleet.handedBack();
  }

  /** The queue has heard of a failure: the file is tried again, or has failed. */
  #heardOf(job: UploadJobOfQueue, { message }: Error): void {
    const id = job.id as string;
    const outcome = this.#failed.get(id);
    this.#failed.delete(id);
    const path = pathOf(job);
    const error = outcome?.error ?? failureIn(message);
    if (!job.finishedOn) {
      this.#notice({ path }, `${error.message}; it is tried again later`);
      return;
    }
    const nothing = { requests: 0, durationMs: 0 };
    this.#tell({ job: { path, workspace: '' }, path, queueId: id, ...nothing, ...outcome, error });
  }

  #tell(outcome: FileOutcome): void {
    const { path, uploaded, error } = outcome;
    this.#tools.onEvent({
      path,
      event: 'finished',
      outcome: error ? 'failed' : 'uploaded',
      asset_uid: uploaded?.assetUid ?? null,
    });
    this.#outcomes.push(outcome);
  }

  #notice({ path }: { path: string }, message: string): void {
    this.#tools.onEvent({ path, event: 'notice', message });
  }

  /** How much there is to do is what was begun so far: nobody counts the queue. */
  #taken({ sizeBytes }: UploadTask): void {
    this.#planned.files++;
    this.#planned.bytes += sizeBytes;
    this.#tools.onPlanned({ event: 'planned', ...this.#planned, there: 0 });
  }

  /** Tells people here of a file, and the queue now and then. */
  #telling(job: UploadJobOfQueue): WorkTools['onEvent'] {
    const { clock } = this.#tools.api.transport;
    const { name: worker } = this.#options;
    let toldAt = clock.now();
    return (event) => {
      this.#tools.onEvent(event);
      if (event.event !== 'progress' || clock.now() - toldAt < progressEveryMs) return;
      toldAt = clock.now();
      const progress: TaskProgress = { worker, offset: event.sent_bytes };
      job.updateProgress(progress).catch(() => {}); // the next one tells more
    };
  }
}

/** A query, a user or a password in an address is somebody's secret: it is not kept once it has served. */
async function forgetSecret(job: UploadJobOfQueue, task: UploadTask): Promise<void> {
  const { path } = task.source;
  if (!isAddress(path) || !letsIn(path)) return;
  await job.updateData({ ...task, source: { path: readAddress(path).path } });
}
