import type { ErrorRecord, MediactlError } from '../../client/errors.ts';
import type { UploadOutcome } from '../../client/upload/session/events.ts';
import type { Uploaded } from '../../client/upload/session/upload-job.ts';
import { type FileOutcome, outcomeOf } from '../../client/upload/session/upload-job.ts';
import { formatBytes } from '../../contract/figures.ts';
import { asObject, asText } from '../../contract/json-values.ts';
import { displayText, escapeControls } from '../../contract/sanitize.ts';
import type { Context } from '../context.ts';
import type { Column } from '../output/result.ts';

/** File in the output of `upload --json`. */
export type UploadRecord = {
  path: string;
  /** Outcome for the file. `there`, `same` (content), `elsewhere`, and `queued` send nothing. */
  outcome: UploadOutcome;
  /** Job id, if the file was queued. */
  queue_id: string | null;
  asset_uid: string | null;
  session_uid: string | null;
  name: string | null;
  size_bytes: number | null;
  bytes_sent: number | null;
  resumed_from: number | null;
  requests: number | null;
  duration_ms: number | null;
  blake3: string | null;
  verified: boolean | null;
  status: string | null;
  error: ErrorRecord | null;
};

type UploadFacts = Omit<UploadRecord, 'outcome' | 'queue_id' | 'requests' | 'duration_ms' | 'status' | 'error'>;

/**
 * Converts an outcome to an output record. Redacts the error, because the service's text might contain secrets, but
 * not the paths.
 */
export function toUploadRecord({ terminal }: Context, outcome: FileOutcome): UploadRecord {
  const { job, uploaded, error, status, requests, durationMs } = outcome;
  const { path, ...facts } = uploaded ? uploadedRecord(job.path, uploaded) : notUploadedRecord(job.path, error);
  return {
    path,
    outcome: outcomeOf(outcome),
    queue_id: outcome.queueId ?? null,
    ...facts,
    requests,
    duration_ms: durationMs,
    status: status ?? null,
    error: terminal.redactor.redactRecord(error?.toJSON() ?? null),
  };
}

const uploadedRecord = (path: string, uploaded: Uploaded): UploadFacts => ({
  path,
  asset_uid: uploaded.assetUid,
  session_uid: uploaded.sessionUid,
  name: uploaded.name,
  size_bytes: uploaded.sizeBytes,
  bytes_sent: uploaded.bytesSent,
  resumed_from: uploaded.resumedFrom,
  blake3: uploaded.blake3,
  verified: uploaded.verified,
});

/** Returns the fields for a file that was not uploaded, with the asset left behind, if any. */
function notUploadedRecord(path: string, error: MediactlError | undefined): UploadFacts {
  return {
    path,
    asset_uid: asText(asObject(error?.explanation.details).asset_uid) ?? null,
    session_uid: null,
    name: null,
    size_bytes: null,
    bytes_sent: null,
    resumed_from: null,
    blake3: null,
    verified: null,
  };
}

const outcomeTexts: Partial<Record<UploadOutcome, string>> = {
  there: 'there already',
  elsewhere: 'being uploaded by another run',
};

const formatResult = ({ outcome, error, verified, status, queue_id, name }: UploadRecord) => {
  if (outcome === 'queued') return `queued as ${queue_id}`;
  if (error) return `${outcome === 'left' ? 'left' : 'failed'}: ${escapeControls(error.message)}`;
  const check = outcome === 'elsewhere' ? undefined : verified ? 'verified' : 'unverified';
  const skipped = `skipped: the same content is there as ${displayText(name)}`;
  return [outcome === 'same' ? skipped : outcomeTexts[outcome], status, check].filter(Boolean).join(', ');
};

export const uploadColumns: Column<UploadRecord>[] = [
  {
    header: 'ASSET',
    value: ({ asset_uid }) => displayText(asset_uid),
    uid: 'asset',
    dropPriority: 1,
  },
  { header: 'PATH', value: ({ path }) => escapeControls(path), minWidth: 18, isFirst: true },
  {
    header: 'SIZE',
    value: ({ size_bytes }, { isTerminal }) =>
      size_bytes === null ? '' : isTerminal ? formatBytes(size_bytes) : String(size_bytes),
    minWidth: 9,
    dropPriority: 2,
  },
  { header: 'RESULT', value: formatResult, minWidth: 18 },
];

/** Formats a file as one line for the terminal. */
export const formatLine = (record: UploadRecord) =>
  [
    escapeControls(record.path),
    record.size_bytes === null ? '' : formatBytes(record.size_bytes),
    formatResult(record),
    displayText(record.asset_uid),
  ]
    .filter(Boolean)
    .join('  ');
