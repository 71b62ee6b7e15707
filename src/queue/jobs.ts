import { CodedError } from '../client/errors.ts';
import type { Uploaded } from '../client/upload/session/file-outcome.ts';
import { asObject, parseJsonOrUndefined } from '../shared/json-values.ts';
import type { QueueClient, QueueJob } from './queue-client.ts';
import { parseTaskResult, type TaskResult } from './task.ts';

/** Job states of BullMQ. */
export type JobState = 'failed' | 'active' | 'delayed' | 'waiting' | 'completed';

const pageSize = 200;

/** Yields the jobs in a state in batches, oldest first. Jobs that change their state meanwhile might be missed. */
export async function* listJobs(client: QueueClient, state: JobState): AsyncGenerator<QueueJob[]> {
  for (const queue of await client.queues()) {
    const count = await client.withRetry(() => queue.getJobCountByTypes(state));
    for (let offset = 0; offset < count; offset += pageSize)
      yield await client.withRetry(() => queue.getJobs([state], offset, offset + pageSize - 1, true));
  }
}

/** Requeues a failed job. @returns false if it is no longer failed, or was removed */
export async function retryFailed(job: QueueJob): Promise<boolean> {
  if (!(await job.isFailed())) return false;
  await job.retry('failed', { resetAttemptsMade: true }).catch(async (error) => {
    if (await job.isFailed()) throw error; // else it was retried concurrently
  });
  return true;
}

export const uploadedFromResult = (result: TaskResult, sizeBytes: number): Uploaded => ({
  how: 'uploaded',
  state: 'unchecked',
  sizeBytes,
  name: result.asset_name,
  assetUid: result.asset_uid,
  sessionUid: result.session_uid,
  bytesSent: result.bytes_sent,
  resumedFrom: result.resumed_from_bytes,
  blake3: result.blake3,
  verified: result.verified,
});

export const toTaskResult = (
  uploaded: Uploaded,
  more: Pick<TaskResult, 'worker' | 'request_count' | 'elapsed_ms' | 'about'>,
): TaskResult => ({
  asset_uid: uploaded.assetUid,
  session_uid: uploaded.sessionUid,
  asset_name: uploaded.name,
  bytes_sent: uploaded.bytesSent,
  resumed_from_bytes: uploaded.resumedFrom,
  blake3: uploaded.blake3 ?? '',
  verified: uploaded.verified,
  ...more,
});

/** Parses a result (JSON) from the store. Returns undefined if there is none or it is not valid. */
export const parseReceipt = (text = ''): TaskResult | undefined => parseTaskResult(parseJsonOrUndefined(text));

/** Converts the failure reason of a job, i.e. an ErrorRecord as JSON or a message from BullMQ, to an error. */
export function parseFailure(reason: string): CodedError {
  const record = asObject(parseJsonOrUndefined(reason));
  if (typeof record.message === 'string' && typeof record.code === 'string') return CodedError.from(record);
  const isStalled = /stalled more than/.test(reason);
  return new CodedError(isStalled ? 'it crashed too many workers' : 'the upload failed', {
    code: isStalled ? 'attempts_exhausted' : 'unclassified',
    reason: isStalled ? 'every worker that uploaded it crashed, or lost the queue for too long' : reason || undefined,
  });
}

/** Returns the path to display for a job, or its id if the data is invalid. */
export const displayPathOf = ({ data, id }: Pick<QueueJob, 'data' | 'id'>): string =>
  typeof data?.path === 'string' ? data.path : (id as string);
