import { createHash } from 'node:crypto';
import { CodedError } from '../client/errors.ts';
import type { GivenMetadata } from '../client/upload/sources/upload-file.ts';
import { isSlug } from '../contract/slug.ts';
import { maxChunkBytes } from '../contract/tus.ts';
import { asNumber, asObject, asText } from '../shared/json-values.ts';

/** Location of a file that is valid on every worker. */
export type TaskSource = {
  /** Name of the `--root` that `path` is relative to. Without it, `path` is absolute or a URL. */
  root?: string;
  path: string;
};

export const formatLocation = ({ root, path }: TaskSource) => (root === undefined ? path : `${root}:${path}`);

/** Data of a job: one file to upload as one asset. Contains no API key. */
export type UploadTask = GivenMetadata & {
  version: 1;
  /** Origin of the service; workers for another service reject the job. */
  service: string;
  source: TaskSource;
  /** Path or URL to display, without the query. */
  path: string;
  sizeBytes: number;
  /** Modification time in nanoseconds since the epoch, or a version from the server, such as the ETag. */
  fileVersion: string;
  workspace: string;
  folder?: string | undefined;
  filename: string;
  chunkBytes: number;
  requireChecksum: boolean;
  /** Random id that changes the job id, so that the file is uploaded again. */
  forceId?: string | undefined;
};

export type TaskResult = NonNullable<ReturnType<typeof parseTaskResult>>;

/** Returns the metadata that a job gives to its asset. */
export const aboutOf = ({ name, description, contentType, tags }: UploadTask): GivenMetadata => {
  return { name, description, contentType, tags };
};

/** Progress of a job, and its last error. */
export type TaskProgress = {
  worker: string;
  /** Bytes sent, acknowledged or not. */
  offset: number;
  /** ErrorRecord of the last attempt, if the job is to be retried. */
  error?: unknown;
  /** Names of the workers that could not find or reach the queued file, in order. */
  missedBy?: readonly string[];
};

/** Returns the job id. It is a hash of file and target folder, which dedupes jobs even across machines. */
export function taskId(task: UploadTask, stableSource: TaskSource): string {
  const { service, workspace, folder, filename, sizeBytes, fileVersion, forceId } = task;
  const { root = null, path } = stableSource;
  const parts = [service, workspace, folder, filename, sizeBytes, fileVersion, forceId];
  const hash = createHash('sha256').update(JSON.stringify([root, path, ...parts]));
  return `u${hash.digest('hex').slice(0, 32)}`; // BullMQ rejects numeric ids
}

/** Returns the first 16 characters of a job id, which are shown to users. */
export const shortTaskId = (id: string): string => id.slice(0, 16);

const isString = (value: unknown) => typeof value === 'string';
const isOptionalString = (value: unknown) => value === undefined || isString(value);
const isCount = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0;

/**
 * Validates a job's data, because anyone with access to the store can write it.
 *
 * @throws CodedError `invalid_job` (exit 2) if a newer version queued the job, or if the
 *   data is not valid
 */
export function parseTask(data: unknown): UploadTask {
  const task = (typeof data === 'object' && data !== null ? data : {}) as UploadTask;
  const isTask =
    task.version === 1 &&
    [task.service, task.path, task.fileVersion, task.workspace, task.filename].every(isString) &&
    isString(task.source?.path) &&
    [task.source.root, task.folder, task.name, task.description, task.contentType].every(isOptionalString) &&
    isCount(task.sizeBytes) &&
    isCount(task.chunkBytes) &&
    task.chunkBytes > 0 &&
    task.chunkBytes <= maxChunkBytes &&
    typeof task.requireChecksum === 'boolean' &&
    (task.tags === undefined || (Array.isArray(task.tags) && task.tags.every((tag) => isString(tag) && isSlug(tag))));
  if (isTask) return task;
  if (isCount(task.version) && task.version > 1)
    throw new CodedError('a newer version queued files that this version cannot read', {
      subcode: 'unsupported_job',
      reason: `they use version ${task.version} of the job format, and this program supports version 1`,
      retryable: true,
    });
  throw new CodedError('the queue contains a job that is not an upload', {
    code: 'invalid_job',
    reason: 'another program added it',
  });
}

/** Parses a job's result from the store. Returns undefined if the result is not valid. */
export function parseTaskResult(value: unknown) {
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
    /** Metadata that the worker gave to the asset; null if they are not known. */
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

/** Creates the error of files that are queued for another service than that of this worker's account. */
export const serviceMismatch = (subject: string, service: string, own: string) =>
  new CodedError(`${subject} for ${service}`, {
    code: 'queue_service_mismatch',
    reason: `this worker's account is on ${own}`,
  });
