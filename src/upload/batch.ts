import { asMediactlError, endsTheRun, exitCodes, MediactlError, notTried } from '../errors.ts';
import { waitForAssets } from '../library/waiting.ts';
import { textIn } from '../wire/reading.ts';
import { waitingEvent } from './events.ts';
import type { Uploaded, UploadJob, UploadOptions, UploadTools } from './job.ts';
import { assetOf, type CorruptEntry, isCorrupt, type JournalEntry } from './journal-entry.ts';
import { asksForNewAsset } from './session-gone.ts';
import type { Spool } from './spool.ts';
import { openUpload } from './upload-file.ts';
import { idOf } from './upload-run.ts';

/** One file of many. `-` is stdin, whose name is the asset's or `stdin`. */
export type BatchJob = UploadJob;

export type BatchTools = UploadTools & {
  spool: Spool;
  /** What `-` stands for. */
  stdin(): AsyncIterable<Buffer | string>;
  /** Told of each asset that is whole. */
  onUploaded(assetUid: string): Promise<void>;
};

/** What became of one file. */
export type FileOutcome = {
  job: BatchJob;
  /** Of its page in the journal; absent where it never got one. */
  id?: string;
  /** Where its bytes are; for stdin, the spool. */
  path: string;
  uploaded?: Uploaded;
  requests: number;
  /** Milliseconds. */
  durationMs: number;
  /** Where it was waited for. */
  status?: string | undefined;
  error?: MediactlError;
};

export type Batch = {
  outcomes: FileOutcome[];
  /** To be called once the outcomes are written out: only then is an upload done with. */
  settle(): Promise<void>;
};

/** What a file is called in events: a spool's own path says nothing to people. */
export const labelOf = ({ path, label }: BatchJob) => label ?? (path === '-' ? 'stdin' : path);

/**
 * Uploads file after file, then waits for all that are whole. One bad file fails itself alone; what
 * would fail for all of them alike ends the run.
 *
 * @param timeoutMs how long to wait until the assets are ready; undefined does not wait
 * @param unreadable what was meant too, and cannot even be begun: folders that cannot be read
 */
export async function uploadBatch(
  jobs: readonly BatchJob[],
  options: UploadOptions,
  timeoutMs: number | undefined,
  tools: BatchTools,
  unreadable: readonly FileOutcome[] = [],
): Promise<Batch> {
  const { signal } = tools;
  await sweep(tools);
  const outcomes: FileOutcome[] = [];
  let stop: MediactlError | undefined;
  for (const job of jobs) {
    if (stop)
      outcomes.push({ job, path: job.path, requests: 0, durationMs: 0, error: notTried(stop) });
    else outcomes.push(await uploadOne(job, options, tools));
    const { error } = outcomes.at(-1) as FileOutcome;
    if (signal?.aborted) break;
    if (error && endsTheRun(error)) stop ??= error;
  }
  if (timeoutMs !== undefined && !signal?.aborted) await waitForAll(outcomes, timeoutMs, tools);
  for (const outcome of outcomes)
    if (outcome.error) outcome.error = await withNextStep(outcome, outcome.error, options, tools);
  // Until the whole job is done, the same command must find what is: it is not done twice.
  const isDone =
    unreadable.length === 0 &&
    outcomes.length === jobs.length &&
    outcomes.every(({ error }) => !error);
  return {
    outcomes: [...unreadable, ...outcomes],
    settle: async () => {
      for (const outcome of outcomes)
        await settle(outcome, isDone, tools).catch((error: Error) =>
          tools.onEvent({
            path: labelOf(outcome.job),
            event: 'notice',
            message: `it stays in the journal: ${error.message}`,
          }),
        );
    },
  };
}

/** Leftovers of killed runs. Where that fails there is nothing to resume either, which is said then. */
async function sweep({ journal, spool }: BatchTools): Promise<void> {
  await Promise.all([journal.sweep(), spool.sweep()]).catch(() => {});
}

async function uploadOne(
  job: BatchJob,
  options: UploadOptions,
  tools: BatchTools,
): Promise<FileOutcome> {
  const { onEvent } = tools;
  const { clock } = tools.api.transport;
  const startedAt = clock.now();
  const outcome: FileOutcome = { job, path: job.path, requests: 0, durationMs: 0 };
  const api = tools.api.observed({
    onNotice: (notice) => onEvent({ path: labelOf(job), ...waitingEvent(notice) }),
    onRequest: () => {
      outcome.requests++;
    },
  });
  try {
    const source = job.path === '-' ? await fromStdin(job, tools) : job;
    outcome.path = source.path;
    const upload = await openUpload({ ...source, label: labelOf(job) }, options, { ...tools, api });
    outcome.id = upload.id;
    try {
      outcome.uploaded = await upload.run();
    } finally {
      await upload.close();
    }
    await tools.onUploaded(outcome.uploaded.assetUid).catch((error: Error) =>
      onEvent({
        path: labelOf(job),
        event: 'notice',
        message: `@last is not kept: ${error.message}`,
      }),
    );
  } catch (thrown) {
    outcome.error = asMediactlError(thrown);
  }
  outcome.durationMs = clock.now() - startedAt;
  return outcome;
}

/** stdin has no path that lasts: its content is what makes it the same another time. */
async function fromStdin(job: BatchJob, tools: BatchTools): Promise<UploadJob> {
  const { spool, stdin, signal, api } = tools;
  const spooled = await spool.take(stdin(), signal);
  const named = {
    ...job,
    identity: `${spooled.blake3} ${spooled.sizeBytes}`,
    filename: job.filename ?? job.name ?? 'stdin',
  };
  // What an earlier attempt spooled of the same bytes is what its journal knows.
  return { ...named, path: await spooled.keepAs(idOf(named, api.transport.baseUrl)) };
}

/** Waits for everything that was uploaded; writes status or error into each outcome. */
async function waitForAll(
  outcomes: readonly FileOutcome[],
  timeoutMs: number,
  { api, signal, onEvent }: BatchTools,
): Promise<void> {
  const last = outcomes.at(-1);
  let current = last ? labelOf(last.job) : '';
  const observed = api.observed({
    onNotice: (notice) => onEvent({ path: current, ...waitingEvent(notice) }),
  });
  const waiting = new Map(
    outcomes.flatMap((each) => (each.uploaded ? [[each.uploaded.assetUid, each] as const] : [])),
  );
  try {
    await waitForAssets(observed.assets, [...waiting.keys()], {
      clock: api.transport.clock,
      signal,
      timeoutMs,
      onStatus: (uid, status) => {
        const { job } = waiting.get(uid) as FileOutcome;
        current = labelOf(job);
        onEvent({ path: current, event: 'status', asset_uid: uid, status });
      },
      onSettled: (uid, found) => {
        const outcome = waiting.get(uid) as FileOutcome;
        if (found instanceof MediactlError) outcome.error = found;
        else outcome.status = textIn(found.status);
      },
    });
  } catch (thrown) {
    for (const outcome of waiting.values())
      if (outcome.status === undefined) outcome.error ??= asMediactlError(thrown);
  }
}

/** The asset is what the service makes of the file, and will not become another thing. */
const isFinal = ({ explanation }: MediactlError) => explanation.code === 'processing_failed';

/** Says how to go on with what is kept. */
async function withNextStep(
  { job, id, path, uploaded }: FileOutcome,
  error: MediactlError,
  { resume }: UploadOptions,
  { journal, spool }: BatchTools,
): Promise<MediactlError> {
  if (isFinal(error) || error.exitCode === exitCodes.integrity || id === undefined) return error;
  const kept = await journal.read(id);
  const isFromStdin = job.identity !== undefined || job.path === '-';
  if (!kept && job.path === '-' && !uploaded)
    return error.with({
      hint: `it is kept: mediactl upload '${path}' --name NAME, then delete it`,
    });
  if (!kept || isCorrupt(kept)) return error;
  if (asksForNewAsset(error)) {
    if (!isFromStdin) return error;
    const anew = `mediactl uploads resume ${id} --yes`;
    return error.with({ hint: `${anew} makes a new asset and leaves what there is` });
  }
  if (kept.state === 'intended')
    return isFromStdin
      ? error.with({ hint: joined(error, `mediactl uploads resume ${id}`) })
      : error;
  if (kept.state === 'planned') {
    if (error.exitCode !== exitCodes.rejected)
      return error.with({ hint: joined(error, `mediactl uploads resume ${id}`) });
    // What the service refuses now, it will refuse another time too.
    await journal.remove(id);
    await spool.remove(path);
    return error;
  }
  if (error.explanation.code === 'already_uploading') return error;
  const finish = `mediactl uploads resume ${id}${uploaded ? ' --wait' : ''}`;
  const again = isFromStdin || !resume ? finish : `run the same command again, or ${finish}`;
  return error.with({ hint: `${joined(error, again)}, to go on from here` });
}

/** A hint that only says to run it again is said better by ours. */
function joined({ exitCode, explanation: { hint } }: MediactlError, ours: string): string {
  const first: number[] = [exitCodes.unauthenticated, exitCodes.quota, exitCodes.forbidden];
  if (!hint || !first.includes(exitCode)) return ours;
  return `${hint.replace(/[,;] then run (?:it|the same command) again$/, '')}; then ${ours}`;
}

async function settle(
  { id, path, uploaded, error }: FileOutcome,
  jobIsDone: boolean,
  { journal, spool }: BatchTools,
): Promise<void> {
  if (!uploaded || id === undefined || (error && !isFinal(error))) return;
  const release = await journal.lock(id).catch((failure) => {
    // Another process has the upload in hand: what becomes of it is that one's to settle.
    if (failure instanceof MediactlError && failure.explanation.code === 'already_uploading')
      return undefined;
    return async () => {}; // no lock is to be had here, and nobody else has one
  });
  if (!release) return;
  try {
    const kept = await journal.read(id);
    if (kept && !isOfThisRun(kept, uploaded)) return;
    if (jobIsDone || error) await journal.remove(id);
    else await journal.settle(id);
    await spool.remove(path);
  } finally {
    await release();
  }
}

/**
 * Another run of the same command may have begun anew meanwhile: its page is its own. A page without an
 * asset is this run's if it began it, and could not be written again.
 */
function isOfThisRun(kept: JournalEntry | CorruptEntry, uploaded: Uploaded): boolean {
  if (isCorrupt(kept)) return false;
  const assetUid = assetOf(kept);
  return assetUid === undefined
    ? kept.begunAt === uploaded.begunAt
    : assetUid === uploaded.assetUid;
}
