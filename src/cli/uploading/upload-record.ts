import { join } from 'node:path';
import { writeStateFile } from '../../client/state-files.ts';
import {
  type FileOutcome,
  isInterruptionCode,
  isPlannedStop,
  outcomeOf,
} from '../../client/upload/session/file-outcome.ts';
import { formatBytes } from '../../shared/figures.ts';
import { displayText, escapeControls } from '../../shared/sanitize.ts';
import { type UploadOutcome, uploadOutcomes } from '../../shared/upload-outcomes.ts';
import type { Context } from '../context.ts';
import { lastUploadFile } from '../library/asset-ids.ts';
import type { Column } from '../output/result.ts';
import type { OutputRecord } from '../reference/schemas.ts';

export type UploadRecord = OutputRecord<'upload'>;

/**
 * Converts an outcome to an output record. Redacts the error, because the service's text might contain secrets, but
 * not the paths. A file that was not uploaded has the asset that it left behind, if any. A planned stop is no error.
 */
export function toUploadRecord({ terminal }: Context, outcome: FileOutcome): UploadRecord {
  const { file, uploaded, assetUid, status, requests, durationMs, jobId } = outcome;
  const error = isPlannedStop(outcome.error) ? undefined : outcome.error;
  return {
    path: file.path,
    outcome: outcomeOf(outcome),
    job_id: jobId ?? null,
    asset_uid: uploaded?.assetUid ?? assetUid ?? null,
    session_uid: uploaded?.sessionUid || null,
    asset_name: uploaded?.name ?? null,
    size_bytes: uploaded?.sizeBytes ?? null,
    bytes_sent: uploaded?.bytesSent ?? null,
    resumed_from_bytes: uploaded?.resumedFrom ?? null,
    blake3: uploaded?.blake3 ?? null,
    verified: uploaded?.verified ?? null,
    request_count: requests,
    elapsed_ms: durationMs,
    asset_status: status ?? null,
    error: terminal.redactor.errorRecord(error),
    duplicate_of: null,
    left_by: outcome.leftBy ?? null,
    moved_to: outcome.movedTo ?? null,
  };
}

/** Formats how a file's upload ended, such as `uploaded, verified`. */
export const formatResult = ({
  outcome,
  error,
  verified,
  asset_status: status,
  job_id,
  asset_name,
  duplicate_of,
  left_by,
  moved_to,
}: UploadRecord) => {
  const check = verified ? 'verified' : 'unverified';
  if (error && outcome === 'uploaded' && isInterruptionCode(error.code))
    return `${uploadOutcomes.uploaded.summary}, ${check}, still processing`;
  if (error) {
    const { result } = uploadOutcomes[outcome === 'interrupted' ? outcome : 'failed'];
    return `${result}: ${escapeControls(error.message)}`;
  }
  const { result, isCompared } = uploadOutcomes[outcome];
  const complements: { [Outcome in UploadOutcome]?: string | null } = {
    duplicate: displayText(duplicate_of ?? asset_name),
    queued: job_id,
    left_out: left_by && `(${left_by})`,
  };
  const text = [result, complements[outcome]].filter(Boolean).join(' ');
  const move = moved_to && `moved to ${escapeControls(moved_to)}`;
  return [text, status, isCompared && check, move].filter(Boolean).join(', ');
};

export const uploadColumns: Column<UploadRecord>[] = [
  { field: 'asset_uid', uid: 'asset', dropPriority: 1 },
  { field: 'path', minWidth: 18, isFirst: true },
  { field: 'size_bytes', minWidth: 9, dropPriority: 2 },
  { field: 'outcome', value: formatResult, minWidth: 18 },
];

export const formatLine = (record: UploadRecord) =>
  [
    escapeControls(record.path),
    record.size_bytes === null ? '' : formatBytes(record.size_bytes),
    formatResult(record),
    displayText(record.asset_uid),
  ]
    .filter(Boolean)
    .join('  ');

export async function saveLastUpload(context: Context, uid: string): Promise<void> {
  const { profile, baseUrl } = await context.account();
  const last = { uid, profile, base_url: baseUrl.origin };
  await writeStateFile(join(context.stateDir, lastUploadFile), JSON.stringify(last));
}
