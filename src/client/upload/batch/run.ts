import { asMediactlError, endsTheRun, exitCodes, type MediactlError } from '../../errors.ts';
import type { Lane } from '../../http/rate-limiter.ts';
import { waitingEvent } from '../session/events.ts';
import type { UploadJob, UploadOptions } from '../session/job.ts';
import { labelOf } from '../session/job.ts';
import { uploadedBefore } from '../session/known.ts';
import { withNextStep } from '../session/next-step.ts';
import { type FileOutcome, outcomeOf, type RunTools } from '../session/outcome.ts';
import { resumableFinder } from '../session/resumable.ts';
import { openUpload, type Settled } from '../session/upload-file.ts';
import { idOf } from '../session/upload-run.ts';
import { type About, type Folders, keyOf, saidOf, type Wanted } from '../sources/wanted.ts';
import type { Receipt } from '../store/receipts.ts';
import { Channel } from './channel.ts';
import { LostCreations } from './lost-creations.ts';
import { Order } from './order.ts';
import { count, emptyPlan, type Judgement, judge, type Plan } from './plan.ts';
import { ReadyWatch } from './ready-watch.ts';

/** Options of one upload run over any number of files. */
export type RunOptions = UploadOptions & {
  workspace: string;
  /** Number of concurrent uploads. */
  parallel: number;
  /** Priority of its requests. Default: interactive for one file, bulk for several. */
  lane?: Lane | undefined;
  /** Maximum milliseconds to wait until the assets are ready; undefined does not wait. */
  timeoutMs?: number | undefined;
  /** Default metadata for every file of the run. */
  about: Pick<About, 'name' | 'description' | 'contentType'>;
};

/** Dependencies of a batch upload. */
export type ManyTools = RunTools & {
  folders: Folders;
  /** Called with the plan before the first byte is sent. */
  onPlan(plan: Plan): Promise<void>;
  findMoved?: FindMoved | undefined;
  contentType(path: string): string | undefined;
};

/** Finds files already uploaded from another path: `--sync` recognizes a renamed directory by this. */
export type FindMoved = (files: readonly Wanted[]) => Promise<ReadonlyMap<Wanted, Receipt>>;

/** An upload run, carried out by this process or by the workers of a queue. */
export type Run = {
  /** Uploads the files and yields the outcome of each as it becomes known. */
  outcomes(wanted: AsyncIterable<Wanted> | Iterable<Wanted>): AsyncGenerator<FileOutcome[]>;
  /** The result of the run; final once `outcomes` has ended. */
  readonly end: RunEnd;
};

/** The result of an upload run. */
export type RunEnd = {
  plan: Plan;
  /** The error that aborted the run early, if any. */
  stop: MediactlError | undefined;
  /** Number of files that were not attempted. */
  left: number;
};

/**
 * Uploads all files that have no receipt, in a few concurrent upload slots (lanes). It is safe to stop and
 * rerun at any time. A bad file fails alone; an error that would hit every file aborts the run. If the
 * consumer of the outcomes stops reading, the uploads continue.
 */
export class UploadMany implements Run {
  readonly #options: RunOptions;
  readonly #tools: ManyTools;
  readonly #outcomes = new Channel<FileOutcome>();
  readonly #lost: LostCreations;
  readonly #plan = emptyPlan();
  readonly #watch: ReadyWatch | undefined;
  #stop: MediactlError | undefined;
  /** Pending receipt writes of complete uploads. */
  readonly #settling = new Set<Promise<void>>();
  #left = 0;
  #isMany = true;

  constructor(options: RunOptions, tools: ManyTools) {
    this.#options = options;
    this.#lost = new LostCreations(tools);
    this.#tools = { ...tools, ...this.#lost.tools, findResumable: resumableFinder(tools) };
    const { timeoutMs } = options;
    if (timeoutMs !== undefined)
      this.#watch = new ReadyWatch(tools, timeoutMs, {
        onSettled: (outcome) => this.#tell(outcome),
        onFailed: (error) => {
          if (endsTheRun(error)) this.#stop ??= error;
        },
      });
  }

  outcomes(wanted: AsyncIterable<Wanted> | Iterable<Wanted>): AsyncGenerator<FileOutcome[]> {
    return this.#outcomes.during(() => this.#all(wanted));
  }

  /** The result of the run; final once `outcomes` has ended. */
  get end(): RunEnd {
    return { plan: this.#plan, stop: this.#stop, left: this.#left };
  }

  async #all(wanted: AsyncIterable<Wanted> | Iterable<Wanted>): Promise<void> {
    await sweep(this.#tools);
    const send = () =>
      this.#sendAll(wanted).catch((thrown) => {
        const error = asMediactlError(thrown);
        if (error.exitCode !== exitCodes.state) throw thrown;
        this.#stop ??= error; // outcomes collected so far are still reported
      });
    await (this.#watch?.during(send) ?? send());
  }

  async #sendAll(wanted: AsyncIterable<Wanted> | Iterable<Wanted>): Promise<void> {
    const files = await difference(wanted, this.#plan, this.#options, this.#tools, (outcome) =>
      this.#done(outcome),
    );
    const { there } = this.#plan;
    this.#isMany = files.length + there.files > 1;
    this.#lost.areMany = this.#isMany;
    await this.#tools.onPlan(this.#plan);
    await this.#send(files);
    while (!this.#isOver && this.#lost.waiting.length > 0) await this.#send(await this.#lookedUp());
    this.#left += this.#lost.waiting.length;
    await Promise.all(this.#settling);
  }

  get #isOver(): boolean {
    return this.#stop !== undefined || this.#tools.signal?.aborted === true;
  }

  /** Looks up what unconfirmed creations made and returns their files for a retry. If the lookup fails, so do they. */
  async #lookedUp(): Promise<Wanted[]> {
    const waiting = this.#lost.waiting.map(({ file }) => file);
    try {
      return await this.#lost.lookUp();
    } catch (thrown) {
      const error = asMediactlError(thrown);
      for (const file of waiting) {
        const job = { path: file.path, workspace: this.#options.workspace };
        this.#tell({ job, path: file.path, requests: 0, durationMs: 0, error });
      }
      if (endsTheRun(error)) this.#stop ??= error;
      return [];
    }
  }

  async #send(files: Wanted[]): Promise<void> {
    const { parallel } = this.#options;
    const lanes = Math.max(1, Math.min(parallel, files.length));
    const isListed = files.length > 1 && this.#tools.receipts; // without a state folder there is no journal
    const begun = new Set(isListed ? await this.#tools.journal.ids() : []);
    const order = new Order(files, (file) => begun.size > 0 && this.#isBegun(file, begun), lanes);
    const lane = async (_: unknown, number: number) => {
      while (!this.#isOver) {
        const file = order.take(number);
        if (!file) return;
        await this.#one(file);
      }
    };
    await Promise.all(Array.from({ length: lanes }, lane));
    this.#left += order.left;
  }

  #isBegun(file: Wanted, begun: ReadonlySet<string>): boolean {
    const { folders, api } = this.#tools;
    if (file.begun) return true;
    const folder = folders.find(file);
    if (file.knownAs === undefined || folder === null) return false;
    const job = { ...this.#jobOf(file, folder), identity: file.knownAs };
    return begun.has(idOf(job, api.transport.baseUrl));
  }

  async #one(file: Wanted): Promise<void> {
    const { clock } = this.#tools.api.transport;
    const startedAt = clock.now();
    const outcome: FileOutcome = {
      job: { path: file.path, workspace: this.#options.workspace },
      path: file.path,
      requests: 0,
      durationMs: 0,
    };
    let settled: Settled = Promise.resolve(undefined);
    try {
      ({ settled } = await this.#upload(file, outcome));
    } catch (thrown) {
      if (this.#isMany && this.#lost.takes(thrown, file)) return;
      outcome.error = asMediactlError(thrown);
    }
    outcome.durationMs = clock.now() - startedAt;
    const { error } = outcome;
    if (this.#isMany && error && this.#lost.isLost(error) && (await this.#isIntended(outcome)))
      return this.#lost.keep(file);
    if (error && this.#isMany && error.explanation.code === 'already_uploading') {
      delete outcome.error;
      outcome.isElsewhere = true;
    }
    if (error && endsTheRun(error)) this.#stop ??= error;
    if (outcome.error)
      outcome.error = await withNextStep(outcome, outcome.error, this.#options, this.#tools);
    if (this.#isMany)
      this.#tools.onEvent({
        path: labelOf(outcome.job),
        event: 'finished',
        outcome: outcomeOf(outcome),
        asset_uid: outcome.uploaded?.assetUid ?? null,
      });
    // Report the outcome only once it is on disk; the next file starts without waiting for that.
    const told = settled
      .then((unkept) => {
        outcome.error ??= unkept;
        if (unkept && endsTheRun(unkept)) this.#stop ??= unkept;
        this.#done(outcome);
      })
      .finally(() => this.#settling.delete(told));
    this.#settling.add(told);
  }

  async #isIntended({ id }: FileOutcome): Promise<boolean> {
    const page = id === undefined ? undefined : await this.#tools.journal.read(id);
    return page !== undefined && 'state' in page && page.state === 'intended';
  }

  /** Uploads one file. @returns a promise that resolves once its receipt is on disk, or failed to be written */
  async #upload(file: Wanted, outcome: FileOutcome): Promise<{ settled: Settled }> {
    const { folders, onEvent, onUploaded } = this.#tools;
    const folder = file.begun ? file.begun.folder : await folders.make(file);
    const job = this.#jobOf(file, folder);
    outcome.job = job;
    const earlier = this.#isMany ? undefined : this.#earlier(file);
    const api = this.#tools.api.withObserver({
      lane: this.#options.lane ?? (this.#isMany ? 'bulk' : 'interactive'),
      onNotice: (notice) => onEvent({ path: labelOf(job), ...waitingEvent(notice) }),
      onRequest: () => {
        outcome.requests++;
      },
    });
    const tools = { ...this.#tools, api };
    const isSpooled = job.path === '-' && !job.isOnce;
    const source = isSpooled ? await fromStdin(job, tools) : job;
    outcome.path = source.path;
    const upload = await openUpload({ ...source, label: labelOf(job) }, this.#options, tools);
    outcome.id = upload.id;
    let settled: Settled;
    try {
      ({ uploaded: outcome.uploaded, settled } = await upload.run());
    } finally {
      await upload.close();
    }
    if (source.identity !== undefined)
      settled = settled.then(async (unkept) => {
        return (
          unkept ?? this.#tools.spool.remove(source.path).then(() => undefined, asMediactlError)
        );
      });
    if (earlier && outcome.uploaded.how === 'uploaded') {
      const message = `uploaded before: asset ${earlier.assetUid}, which stays`;
      onEvent({ path: labelOf(job), event: 'notice', message });
    }
    await onUploaded(outcome.uploaded.assetUid).catch((error: Error) =>
      onEvent({
        path: labelOf(job),
        event: 'notice',
        message: `@last is not kept: ${error.message}`,
      }),
    );
    return { settled };
  }

  #jobOf(file: Wanted, folder: string | undefined): UploadJob {
    const { begun } = file;
    const { workspace, about: all } = this.#options;
    return {
      path: file.path,
      ...(file.filename !== undefined && { filename: file.filename }),
      ...(file.label !== undefined && { label: file.label }),
      knownAs: file.knownAs,
      isOnce: file.isOnce,
      workspace,
      ...begun,
      folder,
      ...saidOf(file, all, this.#tools.contentType),
    };
  }

  /** Returns the previous receipt of this path, whatever content the file had then. */
  #earlier(file: Wanted) {
    const { receipts, folders, api } = this.#tools;
    const { workspace } = this.#options;
    const service = api.transport.baseUrl.origin;
    const key = keyOf(file, { service, workspace, folders });
    return key && receipts?.find(key);
  }

  /** Hands a complete upload to the ready watch, if there is one; reports every other outcome at once. */
  #done(outcome: FileOutcome): void {
    const { uploaded, error } = outcome;
    if (this.#watch && uploaded && !error) this.#watch.add(outcome);
    else this.#tell(outcome);
  }

  #tell(outcome: FileOutcome): void {
    this.#outcomes.push(outcome);
  }
}

type DifferenceTools = Pick<ManyTools, 'receipts' | 'folders' | 'api' | 'signal' | 'findMoved'>;

/** Reports files that are already uploaded and returns those still to be uploaded. */
export async function difference(
  wanted: AsyncIterable<Wanted> | Iterable<Wanted>,
  plan: Plan,
  { workspace, again, chunkBytes }: Pick<RunOptions, 'workspace' | 'again' | 'chunkBytes'>,
  { receipts, folders, api, signal, findMoved }: DifferenceTools,
  onThere: (outcome: FileOutcome, file: Wanted, receipt: Receipt) => void,
): Promise<Wanted[]> {
  const service = api.transport.baseUrl.origin;
  const files: Wanted[] = [];
  const add = (file: Wanted, judged: Judgement) => {
    count(plan, judged, file, chunkBytes);
    if (judged.kind !== 'there') return files.push(file);
    const { path } = file;
    const uploaded = uploadedBefore(judged.receipt, 'there');
    const outcome = { job: { path, workspace }, path, requests: 0, durationMs: 0, uploaded };
    return onThere(outcome, file, judged.receipt);
  };
  const unknown = new Map<Wanted, Judgement>();
  for await (const file of wanted) {
    signal?.throwIfAborted();
    const key = keyOf(file, { service, workspace, folders });
    const judged = judge(file, key, again ? undefined : receipts);
    if (findMoved && judged.kind !== 'there' && judged.kind !== 'changed')
      unknown.set(file, judged);
    else add(file, judged);
  }
  const moved = unknown.size > 0 ? await findMoved?.([...unknown.keys()]) : undefined;
  for (const [file, judged] of unknown) {
    const receipt = moved?.get(file);
    add(file, receipt ? { kind: 'there', receipt } : judged);
  }
  return files;
}

/** Removes leftovers of killed runs. Errors are ignored: writing the journal reports the same problem later. */
async function sweep({ journal, spool }: RunTools): Promise<void> {
  await Promise.all([journal.sweep(), spool.sweep()]).catch(() => {});
}

/** Spools stdin to disk. It has no lasting path, so its checksum and size identify it. */
async function fromStdin(job: UploadJob, tools: RunTools): Promise<UploadJob> {
  const { spool, stdin, signal, api } = tools;
  const spooled = await spool.take(stdin(), signal);
  const named = {
    ...job,
    identity: `${spooled.blake3} ${spooled.sizeBytes}`,
    filename: job.filename ?? job.name ?? 'stdin',
  };
  // Name the spool file by the upload id: the journal of an earlier attempt with the same bytes points there.
  return { ...named, path: await spooled.keepAs(idOf(named, api.transport.baseUrl)) };
}
