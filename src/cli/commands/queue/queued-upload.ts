import type { UploadJobOfQueue } from '../../../client/queue/fleet.ts';
import type { EngineState } from '../../../client/queue/jobs.ts';
import { failureIn, pathOf, resultIn } from '../../../client/queue/results.ts';
import { shortTaskId } from '../../../client/queue/task.ts';
import { pluralize } from '../../../contract/figures.ts';
import { asObject, asText } from '../../../contract/json-values.ts';
import { escapeControls } from '../../../contract/sanitize.ts';
import type { Column } from '../../output/result.ts';
import { howFar } from '../../uploading/pending.ts';
import type { UploadRecord } from '../../uploading/record.ts';

/** Fields that `upload --json` and `uploads ls --queue --json` have in common. */
type Told = Omit<UploadRecord, 'outcome' | 'queue_id' | 'status'>;

/** A file of a queue in the output of `uploads ls --queue`. The error is why it failed, or why it will be retried. */
export type QueuedUpload = Told & {
  id: string;
  state: 'waiting' | 'uploading' | 'retrying' | 'failed' | 'uploaded';
  /** Bytes sent, as last reported by its worker. */
  offset_bytes: number | null;
  worker: string | null;
  /** Number of attempts started; `stalls` of them ended because the worker crashed or lost the queue. */
  attempts: number;
  stalls: number;
  /** Uids of orphaned assets, deleted by their marker. */
  removed: string[];
  base_url: string | null;
  queued_at: string;
  begun_at: string | null;
  done_at: string | null;
};

/** Displayed names of the engine's job states. */
export const stateWords: Record<EngineState, QueuedUpload['state']> = {
  ...{ active: 'uploading', waiting: 'waiting', prioritized: 'waiting', delayed: 'retrying' },
  ...{ failed: 'failed', completed: 'uploaded' },
};

const isoOrNull = (time: unknown) =>
  Number.isSafeInteger(time) && (time as number) > 0 && (time as number) < 8.64e15
    ? new Date(time as number).toISOString()
    : null;
const text = (value: unknown) => asText(value) ?? null;
const count = (value: unknown) => (Number.isSafeInteger(value) ? (value as number) : null);

/** Converts a job. Its data is validated: anyone with access to the store can write it. */
export function queuedUpload(job: UploadJobOfQueue, state: EngineState): QueuedUpload {
  const data = asObject(job.data);
  const result = resultIn(job.returnvalue);
  const told = asObject(job.progress);
  const isWhole = state === 'completed';
  const reason =
    state === 'failed' || state === 'delayed'
      ? (asText(job.failedReason) ?? '')
      : isWhole || !told.error
        ? undefined
        : JSON.stringify(told.error);
  const size = count(data.sizeBytes);
  return {
    id: job.id as string,
    path: pathOf(job),
    state: stateWords[state],
    size_bytes: size,
    offset_bytes: isWhole ? size : (count(told.offset) ?? 0),
    worker: result?.worker ?? text(workerOf(job, state, told)),
    attempts: count(job.attemptsStarted) ?? 0,
    stalls: count(job.stalledCounter) ?? 0,
    asset_uid: result?.asset_uid ?? null,
    session_uid: result?.session_uid ?? null,
    name: result?.name ?? null,
    bytes_sent: result?.bytes_sent ?? null,
    resumed_from: result?.resumed_from ?? null,
    requests: result?.requests ?? null,
    duration_ms: result?.duration_ms ?? null,
    blake3: result?.blake3 || null,
    verified: result?.verified ?? null,
    removed: result?.removed ?? [],
    base_url: text(data.service),
    queued_at: isoOrNull(job.timestamp) ?? new Date(0).toISOString(),
    begun_at: isoOrNull(job.processedOn),
    done_at: isoOrNull(job.finishedOn),
    error: reason === undefined ? null : failureIn(reason).toJSON(),
  };
}

/** Returns the worker that is processing the job or had its last error; undefined for a waiting job. */
const workerOf = (
  { processedBy }: UploadJobOfQueue,
  state: EngineState,
  { worker, error }: { worker?: unknown; error?: unknown },
) => (state === 'active' ? (processedBy ?? worker) : error ? worker : undefined);

const result = ({ state, error, verified, stalls }: QueuedUpload) => {
  const said = error ? `${state}: ${escapeControls(error.message)}` : state;
  const check = state === 'uploaded' && !verified ? ', unverified' : '';
  return `${said}${check}${stalls > 0 ? `, lost ${pluralize(stalls, 'time')}` : ''}`;
};

export const queuedColumns: Column<QueuedUpload>[] = [
  {
    header: 'ID',
    value: ({ id }, { isTerminal }) => escapeControls(isTerminal ? shortTaskId(id) : id),
    noTruncate: true,
  },
  { header: 'PATH', value: ({ path }) => escapeControls(path), isFirst: true, minWidth: 18 },
  {
    header: 'DONE',
    value: howFar,
    dropPriority: 1,
  },
  { header: 'WORKER', value: ({ worker }) => escapeControls(worker ?? ''), dropPriority: 2 },
  { header: 'STATE', value: result, minWidth: 18 },
];
