import { createHash } from 'node:crypto';
import { maxChunkBytes } from '../../contract/tus.ts';
import { exitCodes, MediactlError } from '../errors.ts';

/** Where the bytes of a file are, as every worker finds them. */
export type TaskSource = {
  /** A root of the workers that `path` is below; without it, `path` is absolute, or an address. */
  root?: string;
  path: string;
};

/** What one job of the queue is: one file to become one asset. No key is ever in here. */
export type UploadTask = {
  version: 1;
  /** Origin of the service: a worker of another one refuses it. */
  service: string;
  source: TaskSource;
  /** As people may see it: its place, or its address without a query. */
  path: string;
  sizeBytes: number;
  /** Nanoseconds since the epoch of its last write, or a server's word for its version. */
  fileVersion: string;
  workspace: string;
  folder?: string;
  filename: string;
  name?: string;
  description?: string;
  /** Media type. */
  contentType?: string;
  /** Slugs. */
  tags?: readonly string[];
  chunkBytes: number;
  onExpired: 'restart' | 'fail';
  requireChecksum: boolean;
  /** Of a file that is to be sent again, whatever was sent before: makes it another job. */
  again?: string;
};

/** What became of a file, as the queue keeps it. */
export type TaskResult = {
  asset_uid: string;
  session_uid: string;
  name: string;
  bytes_sent: number;
  resumed_from: number | null;
  blake3: string;
  verified: boolean | null;
  worker: string;
  requests: number;
  duration_ms: number;
  /** Assets that lost creations had made: those with this upload's mark, deleted. */
  removed: string[];
};

/** How far a worker is with a file, and what kept it from it last. */
export type TaskProgress = {
  worker: string;
  /** Bytes on their way or there. */
  offset: number;
  /** An ErrorRecord, where the file goes to another worker or another time. */
  error?: unknown;
  /** Names of the workers that did not find or reach the file as it was queued, in order. */
  missedBy?: readonly string[];
};

/** The same file for the same place is the same job, whoever queues it and how often. */
export function taskId(task: UploadTask, lastingSource: TaskSource): string {
  const { service, workspace, folder, filename, name, sizeBytes, fileVersion, again } = task;
  const { root = null, path } = lastingSource;
  const parts = [service, workspace, folder, filename, name, sizeBytes, fileVersion, again];
  const hash = createHash('sha256').update(JSON.stringify([root, path, ...parts]));
  return `u${hash.digest('hex').slice(0, 32)}`; // BullMQ takes no id that is a number
}

/** Returns the id of 60 bits that earlier versions gave the same file; people are shown that much of either. */
export const shortTaskId = (id: string): string => id.slice(0, 16);

const isText = (value: unknown) => typeof value === 'string';
const isTextOrNone = (value: unknown) => value === undefined || isText(value);
const isCount = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0;

/**
 * Validates a job's data: anyone who reaches the store can write it.
 *
 * @throws MediactlError `newer_task` (2) of a later version; `unknown_task` (2)
 */
export function taskIn(data: unknown): UploadTask {
  const task = (typeof data === 'object' && data !== null ? data : {}) as UploadTask;
  const isTask =
    task.version === 1 &&
    [task.service, task.path, task.fileVersion, task.workspace, task.filename].every(isText) &&
    isText(task.source?.path) &&
    [task.source.root, task.folder, task.name, task.description, task.contentType].every(
      isTextOrNone,
    ) &&
    isCount(task.sizeBytes) &&
    isCount(task.chunkBytes) &&
    task.chunkBytes > 0 &&
    task.chunkBytes <= maxChunkBytes &&
    ['restart', 'fail'].includes(task.onExpired) &&
    typeof task.requireChecksum === 'boolean' &&
    (task.tags === undefined || (Array.isArray(task.tags) && task.tags.every(isText)));
  if (isTask) return task;
  if (isCount(task.version) && task.version > 1)
    throw new MediactlError('a newer mediactl queued files that this one cannot read', {
      code: 'newer_task',
      exitCode: exitCodes.usage,
      reason: `they have version ${task.version} of the job format, and this mediactl knows 1`,
      hint: 'install the same version on every machine, then start this worker again',
      retryable: true,
    });
  throw new MediactlError('the queue holds something else than an upload', {
    code: 'unknown_task',
    exitCode: exitCodes.usage,
    reason: 'another program put it there',
    hint: 'mediactl uploads forget ID --queue',
  });
}
