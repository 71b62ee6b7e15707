import { CodedError } from '../client/errors.ts';
import type { Uploaded } from '../client/upload/session/file-outcome.ts';
import type { GivenMetadata } from '../client/upload/sources/upload-file.ts';
import { asNumber, asObject, asText, parseJsonOrUndefined } from '../shared/json-values.ts';
import type { QueueClient, QueueJob } from './queue-client.ts';
import type { TaskResult } from './task.ts';

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

/** Parses a job's result from the store. Returns undefined if the result is not valid. */
export function parseTaskResult(value: unknown): TaskResult | undefined {
  const { asset_uid, session_uid, asset_name, blake3, worker, ...fields } = asObject(value);
  const [assetUid, sessionUid] = [asText(asset_uid), asText(session_uid)];
  if (assetUid === undefined || sessionUid === undefined) return undefined;
  return {
    asset_uid: assetUid,
    session_uid: sessionUid,
    asset_name: asText(asset_name) ?? '',
    bytes_sent: asNumber(fields.bytes_sent) ?? 0,
    resumed_from_bytes: asNumber(fields.resumed_from_bytes) ?? null,
    blake3: asText(blake3) ?? '',
    verified: typeof fields.verified === 'boolean' ? fields.verified : null,
    worker: asText(worker) ?? '',
    request_count: asNumber(fields.request_count) ?? 0,
    elapsed_ms: asNumber(fields.elapsed_ms) ?? 0,
    about: parseAbout(fields.about),
  };
}

function parseAbout(value: unknown): GivenMetadata | null {
  if (typeof value !== 'object' || value === null) return null;
  const { tags, name, description, contentType } = asObject(value);
  return {
    ...{ name: asText(name), description: asText(description), contentType: asText(contentType) },
    ...(Array.isArray(tags) && { tags: tags.map(String) }),
  };
}

/** Parses a receipt (JSON) from the store. Returns undefined if there is none or it is not valid. */
export const parseReceipt = (text: string | undefined): TaskResult | undefined =>
  text === undefined ? undefined : parseTaskResult(parseJsonOrUndefined(text));

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
