import { asMediactlError, endsTheRun, MediactlError, notTried } from '../errors.ts';
import { waitForAssets } from '../library/waiting.ts';
import { textIn } from '../wire/reading.ts';
import { waitingEvent } from './events.ts';
import { labelOf, type UploadJob, type UploadOptions } from './job.ts';
import { withNextStep } from './next-step.ts';
import type { BatchTools, FileOutcome } from './outcome.ts';
import { settle } from './settle.ts';
import { openUpload } from './upload-file.ts';
import { idOf } from './upload-run.ts';

export type Batch = {
  outcomes: FileOutcome[];
  /** To be called once the outcomes are written out: only then is an upload done with. */
  settle(): Promise<void>;
};

/**
 * Uploads file after file, then waits for all that are whole. One bad file fails itself alone; what
 * would fail for all of them alike ends the run.
 *
 * @param timeoutMs how long to wait until the assets are ready; undefined does not wait
 * @param unreadable what was meant too, and cannot even be begun: folders that cannot be read
 */
export async function uploadBatch(
  jobs: readonly UploadJob[],
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
  job: UploadJob,
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
async function fromStdin(job: UploadJob, tools: BatchTools): Promise<UploadJob> {
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
