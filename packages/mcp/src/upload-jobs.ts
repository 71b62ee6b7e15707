import { createHash, randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { type Client, type DirectoryOptions, MediactlError, type UploadResult } from 'mediactl';
import { cleanText, describeError, fitting, ToolError } from './answers.ts';
import { type Call, paced, waitUntil } from './call.ts';
import { countFiles, type Roots } from './roots.ts';

/** A file or directory to upload, and where to. */
export type UploadWish = {
  path: string;
  folder?: string | undefined;
  tags?: readonly string[] | undefined;
  include?: readonly string[] | undefined;
  exclude?: readonly string[] | undefined;
};

type Plan = UploadWish & { id: string; real: string; isDirectory: boolean };

type FileState = { path: string; outcome: string; uid: string | null; status: string | null; error?: unknown };

const maxPlans = 100;
const partBytes = 50 * 2 ** 20;
const progressIntervalMs = 250;

/** Uploads of this server. A job is a run: it ends with the server, and the same upload later goes on where it stopped. */
export class UploadJobs {
  readonly #roots: Roots;
  readonly #client: () => Promise<Client>;
  readonly #plans = new Map<string, Plan>();
  readonly #jobs = new Map<string, UploadJob>();

  constructor(roots: Roots, client: () => Promise<Client>) {
    this.#roots = roots;
    this.#client = client;
  }

  async plan(wish: UploadWish, signal: AbortSignal): Promise<Record<string, unknown>> {
    const real = await this.#roots.resolve(wish.path);
    const { isDirectory, files, bytes, sample, isComplete } = await countFiles(real, signal);
    if (isDirectory && files === 0) throw new ToolError('nothing_to_upload', `there are no files in ${wish.path}`);
    const id = createHash('sha256')
      .update(JSON.stringify({ ...wish, real }))
      .digest('hex')
      .slice(0, 16);
    this.#plans.set(id, { ...wish, id, real, isDirectory });
    const [oldest] = this.#plans.keys();
    if (this.#plans.size > maxPlans && oldest !== undefined) this.#plans.delete(oldest);
    const client = await this.#client();
    if (!client.rateLimit) await client.workspaces.list({ signal }); // whose answer has it
    return {
      plan_id: id,
      ...{
        files,
        bytes,
        counted_all: isComplete,
        sample: sample.map(cleanText),
        folder: cleanText(wish.folder ?? '/'),
      },
      requests: 2 * files + Math.floor(bytes / partBytes),
      requests_left: client.rateLimit?.remaining ?? null,
    };
  }

  /** Starts the upload of a plan, or goes on with one that runs. */
  async start(planId: string): Promise<UploadJob> {
    const plan = this.#plans.get(planId);
    if (!plan) throw new ToolError('no_such_plan', `there is no plan ${cleanText(planId)}`, 'call upload_plan again');
    for (let running = this.#findRunning(planId); running; running = this.#findRunning(planId)) {
      if (!running.isStopping) return running;
      await running.ended; // the new one goes on where it stops
    }
    await this.#roots.resolve(plan.path);
    const job = new UploadJob(await this.#client(), plan, this.#roots);
    this.#jobs.set(job.id, job);
    return job;
  }

  #findRunning(planId: string): UploadJob | undefined {
    return [...this.#jobs.values()].find((job) => job.planId === planId && job.isRunning);
  }

  find(id: string): UploadJob {
    const job = this.#jobs.get(id);
    if (job) return job;
    const next = 'plan and start the same upload again: it goes on, and sends nothing twice';
    throw new ToolError('no_such_job', `this server has no job ${cleanText(id)}`, next);
  }
}

class UploadJob {
  readonly id = randomUUID().slice(0, 8);
  readonly planId: string;
  readonly ended: Promise<void>;
  readonly #plan: Plan;
  readonly #client: Client;
  readonly #roots: Roots;
  readonly #stop = new AbortController();
  readonly #changes = new EventEmitter().setMaxListeners(0);
  readonly #files = new Map<string, FileState>();
  readonly #sent = new Map<string, number>();
  readonly #warnings = new Set<string>();
  #state: 'uploading' | 'processing' | 'done' | 'stopped' | 'failed' = 'uploading';
  #error: unknown;
  /** Time at which requests go on, while the rate limit is used up. */
  #waitsUntil: number | undefined;

  constructor(client: Client, plan: Plan, roots: Roots) {
    this.#client = client;
    this.#plan = plan;
    this.#roots = roots;
    this.planId = plan.id;
    this.ended = this.#run();
  }

  get isRunning(): boolean {
    return this.#state === 'uploading' || this.#state === 'processing';
  }

  /** True from a request to stop until the work has ended. */
  get isStopping(): boolean {
    return this.isRunning && this.#stop.signal.aborted;
  }

  stop(): void {
    this.#stop.abort();
  }

  async #run(): Promise<void> {
    try {
      for await (const file of this.#results()) {
        this.#files.set(file.path, file);
        this.#changes.emit('change');
      }
      this.#state = 'processing';
      await this.#awaitReady();
      this.#state = 'done';
    } catch (error) {
      this.#state = this.#stop.signal.aborted ? 'stopped' : 'failed';
      this.#error = error;
    }
    this.#waitsUntil = undefined;
    this.#changes.emit('change');
  }

  async *#results(): AsyncGenerator<FileState> {
    const { real, isDirectory, folder, tags, include, exclude } = this.#plan;
    const options: DirectoryOptions = {
      ...{ folder, tags, roots: this.#roots.paths, signal: this.#stop.signal },
      onNotice: (notice) => {
        if (notice.kind === 'rate_limited') this.#waitsUntil = notice.untilMs;
        else if (notice.kind === 'resumed') this.#waitsUntil = undefined;
        else if (notice.kind === 'warning' && this.#warnings.size < 20)
          this.#warnings.add(cleanText(this.#roots.hide(notice.message)));
        this.#changes.emit('change');
      },
      onProgress: ({ path, sentBytes }) => {
        this.#sent.set(path, sentBytes);
        this.#changes.emit('change');
      },
    };
    const show = (path: string) => cleanText(this.#roots.show(path));
    const toState = ({ path, outcome, uid }: UploadResult): FileState => ({
      path: show(path),
      outcome,
      uid,
      status: null,
    });
    if (!isDirectory) return yield toState(await this.#client.upload(real, options));
    for await (const { path, upload, error } of this.#client.uploadDirectory(real, { ...options, include, exclude }))
      if (upload) yield toState({ ...upload, path });
      else {
        const outcome = error.code === 'upload_in_progress' ? 'elsewhere' : 'failed';
        yield { path: show(path), outcome, uid: null, status: null, error: describeError(error) };
      }
  }

  async #awaitReady(): Promise<void> {
    const files = new Map([...this.#files.values()].flatMap((file) => (file.uid ? [[file.uid, file] as const] : [])));
    const signal = this.#stop.signal;
    for await (const { uid, asset, error } of this.#client.assets.wait([...files.keys()], { signal })) {
      const file = files.get(uid);
      if (file) file.status = asset ? 'ready' : error.code;
      this.#changes.emit('change');
    }
  }

  /**
   * Waits for the job as long as a call may take, or until the requests of the hour are used up, and describes it.
   *
   * @param offset number of files to leave out, which an earlier answer had
   */
  async report(
    { signal, progress }: Call,
    { waitMs, offset = 0 }: { waitMs: number; offset?: number | undefined },
  ): Promise<Record<string, unknown>> {
    const sum = () => [...this.#sent.values()].reduce((all, each) => all + each, 0);
    const onChange = (listener: () => void) => {
      const reports = paced(() => progress(sum(), undefined, `${this.#files.size} files done`), progressIntervalMs);
      const notify = () => {
        reports.request();
        listener();
      };
      this.#changes.on('change', notify);
      return () => {
        reports.stop();
        this.#changes.off('change', notify);
      };
    };
    const endsAt = Date.now() + waitMs;
    const isDone = () => !this.isRunning || (this.#waitsUntil ?? 0) > endsAt;
    await waitUntil(isDone, { signal, onChange, forMs: waitMs });
    return this.#describe(offset, sum());
  }

  #describe(offset: number, sentBytes: number): Record<string, unknown> {
    const files = [...this.#files.values()];
    const counts: Record<string, number> = {};
    for (const { outcome } of files) counts[outcome] = (counts[outcome] ?? 0) + 1;
    const waits = this.isRunning && (this.#waitsUntil ?? 0) > Date.now() ? this.#waitsUntil : undefined;
    const content = {
      job_id: this.id,
      state: this.#state,
      ...{ counts, sent_bytes: sentBytes, ready: files.filter(({ status }) => status === 'ready').length },
      rate_limited_until: waits === undefined ? null : new Date(waits).toISOString(),
      next: this.#nextStep(waits),
      warnings: [...this.#warnings].slice(0, 5),
      error: this.#state === 'failed' ? describeError(this.#error) : null,
    };
    const shown = fitting(files.slice(offset), content);
    const end = offset + shown.length;
    return { ...content, files: shown, next_offset: end < files.length ? end : null };
  }

  #nextStep(waits: number | undefined): string | null {
    if (waits !== undefined) return 'the requests of this hour are used up: call job_status after rate_limited_until';
    if (this.isRunning) return 'call job_status with this job_id';
    const later = 'plan and start the same upload again: it goes on where it stopped';
    if (this.#state === 'stopped') return later;
    if (this.#state === 'failed') return this.#error instanceof MediactlError && this.#error.retryable ? later : null;
    return [...this.#files.values()].some(({ outcome }) => outcome === 'elsewhere')
      ? 'another program uploads some of these files: plan and start again later'
      : null;
  }
}
