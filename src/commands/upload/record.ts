import type { ErrorRecord, MediactlError } from '../../errors.ts';
import { bytes, cell, printable } from '../../terminal/printable.ts';
import type { Column } from '../../terminal/result.ts';
import type { Uploaded } from '../../upload/job.ts';

/** One file of `upload --json`. */
export type UploadRecord = {
  path: string;
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

export const uploadedRecord = (
  path: string,
  uploaded: Uploaded,
  {
    status,
    requests,
    durationMs,
  }: { status: string | undefined; requests: number; durationMs: number },
): UploadRecord => ({
  path,
  asset_uid: uploaded.assetUid,
  session_uid: uploaded.sessionUid,
  name: uploaded.name,
  size_bytes: uploaded.sizeBytes,
  bytes_sent: uploaded.bytesSent,
  resumed_from: uploaded.resumedFrom,
  requests,
  duration_ms: durationMs,
  blake3: uploaded.blake3,
  verified: uploaded.verified,
  status: status ?? null,
  error: null,
});

export function failedRecord(path: string, error: MediactlError): UploadRecord {
  const details = error.explanation.details as { asset_uid?: string } | undefined;
  return {
    path,
    asset_uid: details?.asset_uid ?? null,
    session_uid: null,
    name: null,
    size_bytes: null,
    bytes_sent: null,
    resumed_from: null,
    requests: null,
    duration_ms: null,
    blake3: null,
    verified: null,
    status: null,
    error: error.toJSON(),
  };
}

const outcome = ({ error, verified, status }: UploadRecord) =>
  error
    ? `failed: ${printable(error.message)}`
    : [status, verified ? 'verified' : 'unverified'].filter(Boolean).join(', ');

export const uploadColumns: Column<UploadRecord>[] = [
  { header: 'ASSET', value: ({ asset_uid }) => cell(asset_uid), whole: true },
  { header: 'PATH', value: ({ path }) => printable(path) },
  {
    header: 'SIZE',
    value: ({ size_bytes }, { isTerminal }) =>
      size_bytes === null ? '' : isTerminal ? bytes(size_bytes) : String(size_bytes),
  },
  { header: 'RESULT', value: outcome },
];
