import { asMediactlError, type ErrorRecord, type MediactlError } from '../errors.ts';
import { Channel } from '../upload/batch/channel.ts';
import type { RunEvent } from '../upload/session/events.ts';
import type { FileOutcome } from '../upload/session/file-outcome.ts';
import { hasCredentials, isHttpUrl, parseSourceUrl } from '../upload/sources/source-url.ts';
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
  /** Name of this worker, shown to other machines. */
  name: string;
  /** Maximum number of files uploaded at the same time. */
  concurrency: number;
  /** Lease time in milliseconds; without a heartbeat for so long, another worker gets the file. */
  leaseMs: number;
  /** Number of stalls (crashed workers) after which a job fails. */
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
/** Age of results that are written again after a failover; more than the lag of a replica. */
const recentMs = 10 * 60_000;
const maxRecent = 10_000;
/** Pause after a failover in which other workers restore their results. */
const othersRestoreMs = 5_000;
/** Number of attempts that do not find a file before the job fails. */
const maxMisses = 3;

/** Processes the jobs of a queue until it is stopped, and yields the outcome of each file. */
export class WorkerRun {
  readonly #fleet: Fleet;
  readonly #options: WorkOptions;
  readonly #tools: Tools;
  /** Redacts keys and tokens from an error, before it is written to the queue. */
  readonly #redact: (record: ErrorRecord) => ErrorRecord;
  readonly #outcomes = new Channel<FileOutcome>();
  readonly #leases = new Map<string, Lease>();
  /** Outcomes of failed attempts that the queue has not confirmed yet, by job id. */
  readonly #failed = new Map<string, FileOutcome>();
  readonly #ended = new AbortController();
  /** Newest results of this worker by job id, oldest first, to restore after a failover. */
  readonly #recent = new Map<string, { at: number; receipt: string }>();
  /** Number of failovers to another server. */
  #servers = 0;
  /** Resolves when recent results are restored after a failover. */
  #restored: Promise<void> = Promise.resolve();
  readonly #planned = { files: 0, bytes: 0 };
  readonly #health: Health;
  /** Aborts when this worker pauses or stops. */
  #over = this.#ended.signal;
  /** Error that stopped this worker, such as a rejected key. */
  failure: MediactlError | undefined;
  /** Number of files requeued for other workers. */
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
    return this.#outcomes.streamWhile(
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
        .catch(() => {}) // down again: the next reconnect restores them
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
      // A stalled job is detected by the second check.
      stalledInterval: Math.max(500, Math.floor(leaseMs / 2)),
      runRetryDelay: retryAskMs,
      // A suspended worker may consume the notification of a new job: the others poll.
      drainDelay: lookEverySeconds,
    });
    const worker = await engine.catch((thrown) => {
      if (over.aborted) return undefined; // stopped before the store was up
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
    // If the store is down, the jobs become available when their leases expire.
    const idle = worker.pause().catch(() => {});
    await atMost(this.#fleet.isAway ? 0 : longestCloseMs, clock, idle);
    void worker.close(true).catch(() => {}); // running jobs included: closing the queue client waits for them
  }

  #endWith(failure: MediactlError): void {
    this.failure ??= failure;
    this.#ended.abort(paused);
  }

  /** Restores recent results after a failover to a server that may lack them, and waits while other workers do the same. */
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

  /** Aborts uploads whose lease has expired. Resolves when the signal aborts. */
  async #watchLeases(over: AbortSignal): Promise<void> {
    const { clock } = this.#tools.api.transport;
    while (!over.aborted) {
      await clock.sleep(this.#options.leaseMs / 4, over).catch(() => {});
      for (const lease of this.#leases.values()) if (!lease.isHeld) lease.lost();
    }
  }

  /** Processes one job. @returns the result for the queue @throws an error that makes the queue retry, requeue or fail the job */
  async #perform(job: UploadJobOfQueue, token: string | undefined): Promise<TaskResult> {
    const { clock } = this.#tools.api.transport;
    const startedAt = clock.now();
    const id = job.id as string;
    const signal = this.#over;
    // The job was fetched while this worker was stopped or paused.
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
      this.#leases.get(id)?.lost(); // of an earlier attempt by this process, which was lost
      this.#leases.set(id, lease);
      await this.#restored;
      lease.assertHeld();
      const servers = this.#servers;
      const claim = await this.#fleet.store.claim(id);
      // Already uploaded: its worker died before it updated the queue.
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
        await store.restore(id, receipt); // after a failover, the server may lack the claim
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

  /** Retries, requeues or fails a job, by the class of its error. @returns the error to throw to the queue */
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
    // Count an attempt that stops this worker, or one file could stop all workers in turn.
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

  /** Reports a failed attempt that the queue has recorded: the job will be retried, or has failed. */
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

  /** Adds a started file to the totals of the progress display. They do not include the rest of the queue. */
  #taken({ sizeBytes }: UploadTask): void {
    this.#planned.files++;
    this.#planned.bytes += sizeBytes;
    this.#tools.onPlanned({ event: 'planned', ...this.#planned, there: 0 });
  }

  /** Returns a listener that shows the events of a job, and writes its progress to the queue, throttled. */
  #telling(job: UploadJobOfQueue): WorkTools['onEvent'] {
    const { clock } = this.#tools.api.transport;
    const { name: worker } = this.#options;
    let toldAt = clock.now();
    return (event) => {
      this.#tools.onEvent(event);
      if (event.event !== 'progress' || clock.now() - toldAt < progressEveryMs) return;
      toldAt = clock.now();
      const progress: TaskProgress = { worker, offset: event.sent_bytes };
      job.updateProgress(progress).catch(() => {}); // the next update includes it
    };
  }
}

/** Removes query and credentials from a job's URL, once they are no longer needed. */
async function forgetSecret(job: UploadJobOfQueue, task: UploadTask): Promise<void> {
  const { path } = task.source;
  if (!isHttpUrl(path) || !hasCredentials(path)) return;
  await job.updateData({ ...task, source: { path: parseSourceUrl(path).path } });
}
