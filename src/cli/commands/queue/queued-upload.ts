import { displayPathOf, type JobState, parseFailure } from '../../../queue/jobs.ts';
import type { QueueJob } from '../../../queue/queue-client.ts';
import { parseTaskResult, shortTaskId, type TaskResult } from '../../../queue/task.ts';
import { pluralize } from '../../../shared/figures.ts';
import { asObject, asText } from '../../../shared/json-values.ts';
import { escapeControls } from '../../../shared/sanitize.ts';
import type { Column } from '../../output/result.ts';
import type { OutputRecord } from '../../reference/schemas.ts';
import type { Redactor } from '../../terminal/redactor.ts';
import { formatProgress } from '../../uploading/pending-uploads.ts';

export type QueuedUpload = OutputRecord<'queued-upload'>;

const stateNames: Record<JobState, QueuedUpload['state']> = {
  active: 'uploading',
  waiting: 'waiting',
  delayed: 'retrying',
  failed: 'failed',
  completed: 'uploaded',
};

const isoOrNull = (time: unknown) =>
  Number.isSafeInteger(time) && (time as number) > 0 && (time as number) < 8.64e15
    ? new Date(time as number).toISOString()
    : null;
const text = (value: unknown) => asText(value) ?? null;
const count = (value: unknown) => (Number.isSafeInteger(value) ? (value as number) : null);

/** Converts a job to a row. Validates its data, because other programs can write to the store. */
export function toQueuedUpload(job: QueueJob, state: JobState, redactor: Redactor): QueuedUpload {
  const data = asObject(job.data);
  const result: Partial<TaskResult> = parseTaskResult(job.returnvalue) ?? {};
  const {
    asset_uid = null,
    session_uid = null,
    asset_name = null,
    bytes_sent = null,
    resumed_from_bytes = null,
  } = result;
  const { request_count = null, elapsed_ms = null, verified = null } = result;
  const progress = asObject(job.progress);
  const isCompleted = state === 'completed';
  const isActive = state === 'active';
  /** Worker that processes the job or had its last error; undefined for a waiting job. */
  const worker = (isActive ? job.processedBy : undefined) ?? (isActive || progress.error ? progress.worker : undefined);
  const error = isCompleted || !progress.error ? undefined : JSON.stringify(progress.error);
  const failedReason = state === 'failed' || state === 'delayed' ? asText(job.failedReason) : undefined;
  const reason = failedReason ?? error ?? (state === 'failed' ? '' : undefined);
  const size = count(data.sizeBytes);
  return {
    id: job.id as string,
    path: displayPathOf(job),
    state: stateNames[state],
    size_bytes: size,
    offset_bytes: isCompleted ? size : (count(progress.offset) ?? 0),
    worker: result.worker ?? text(worker),
    attempts: count(job.attemptsStarted) ?? 0,
    crashes: count(job.stalledCounter) ?? 0,
    asset_uid,
    session_uid,
    asset_name,
    bytes_sent,
    resumed_from_bytes,
    request_count,
    elapsed_ms,
    blake3: result.blake3 || null,
    verified,
    base_url: text(data.service),
    queued_at: isoOrNull(job.timestamp) ?? new Date(0).toISOString(),
    started_at: isoOrNull(job.processedOn),
    finished_at: isoOrNull(job.finishedOn),
    error: reason === undefined ? null : redactor.errorRecord(parseFailure(reason)),
  };
}

const formatState = ({ state, error, verified, crashes }: QueuedUpload) => {
  const label = error ? `${state}: ${escapeControls(error.message)}` : state;
  const check = state === 'uploaded' && !verified ? ', unverified' : '';
  return `${label}${check}${crashes > 0 ? `, lost ${pluralize(crashes, 'time')}` : ''}`;
};

export const queuedColumns: Column<QueuedUpload>[] = [
  {
    field: 'id',
    value: ({ id }, { isTerminal }) => escapeControls(isTerminal ? shortTaskId(id) : id),
    noTruncate: true,
  },
  { field: 'path', isFirst: true, minWidth: 18 },
  {
    field: 'offset_bytes',
    value: ({ size_bytes, offset_bytes }, shown) => formatProgress(size_bytes, offset_bytes, shown),
    dropPriority: 1,
  },
  { field: 'worker', dropPriority: 2 },
  { field: 'state', value: formatState, minWidth: 18 },
];
