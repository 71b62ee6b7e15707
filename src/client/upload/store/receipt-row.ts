import type { EvidenceKind } from '../../../shared/file-evidence.ts';
import { isUnfinished } from '../../state/schema.ts';
import type { StateDatabase } from '../../state/state-database.ts';
import type { GivenMetadata, ReceiptKey, UploadFile } from '../sources/upload-file.ts';

/** Processing state of an asset, as last seen by this machine. */
type ProcessingState = 'unchecked' | 'ready' | 'failed';

/** Local record of a finished upload. */
export type Receipt = ReceiptKey & {
  sizeBytes: number;
  /** Modification time in ns since the epoch when the bytes were sent; for a URL, its strong ETag if any. */
  mtimeNs: string;
  /** Inode change time in ns since the epoch; null if the source is not a file. */
  ctimeNs: string | null;
  /** BLAKE3 of the file, in hex; null if only name and size were compared with an asset of another machine. */
  blake3: string | null;
  /** True if the checksums are equal; null if the service sent no checksum; false if a download has shown other bytes. */
  verified: boolean | null;
  assetUid: string;
  /** Empty if the asset was uploaded by another machine. */
  sessionUid: string;
  name: string;
  state: ProcessingState;
  /** Reason why processing failed; null if it did not. */
  reason: string | null;
  /** Metadata that this machine gave to the asset last; null if it gave none. */
  about: GivenMetadata | null;
  /** Time at which the last byte was acknowledged, in ISO 8601. */
  at: string;
  /** What shows that the asset has the file; null or absent if this machine uploaded it, and nothing was found since. */
  evidence?: EvidenceKind | null;
  /** Time at which that was found, in ISO 8601. */
  evidenceAt?: string | null;
};

/** What was found out about a file and an asset. @property at time of that, in ISO 8601 */
type FoundAsset = Pick<Receipt, 'blake3' | 'verified' | 'assetUid' | 'name' | 'state' | 'at'> & {
  evidence: EvidenceKind;
};

/** Returns the receipt of a file whose asset was found in the library, rather than uploaded from its path. */
export const receiptOfFinding = (
  key: ReceiptKey,
  { sizeBytes = 0, mtimeNs = '0', ctimeNs }: Pick<UploadFile, 'sizeBytes' | 'mtimeNs' | 'ctimeNs'>,
  found: FoundAsset,
): Receipt => ({
  ...{ ...key, sizeBytes, mtimeNs, ctimeNs: ctimeNs ?? null },
  ...{ ...found, sessionUid: '', reason: null, about: null, evidenceAt: found.at },
});

/** Returns what a receipt shows of the file and the asset. */
export function kindOf({
  evidence,
  blake3,
  verified,
  sessionUid,
}: Pick<Receipt, 'evidence' | 'blake3' | 'verified' | 'sessionUid'>): EvidenceKind {
  if (evidence) return evidence;
  if (blake3 === null) return 'name_and_size';
  if (verified === false) return 'contradicted';
  if (verified === null) return 'unconfirmed';
  return sessionUid === '' ? 'checksum' : 'upload';
}

const columnOf: Record<keyof Receipt, string> = {
  service: 'service',
  workspace: 'workspace',
  folder: 'folder',
  realPath: 'path',
  sizeBytes: 'size',
  mtimeNs: 'source_version',
  ctimeNs: 'ctime_ns',
  blake3: 'blake3',
  verified: 'verified',
  assetUid: 'asset',
  sessionUid: 'session',
  name: 'name',
  state: 'processing',
  reason: 'reason',
  about: 'about',
  at: 'at',
  evidence: 'evidence',
  evidenceAt: 'evidence_at',
};
const columns = Object.values(columnOf).join(', ');
const placeholders = columns.replaceAll(/\w+/g, '?');
export const selectedColumns = Object.entries(columnOf)
  .map(([field, column]) => `${column} AS ${field}`)
  .join(', ');
export const byKey = 'service = ? AND workspace = ? AND folder = ? AND path = ?';
export const isDone = "state = 'done'";

export type ReceiptRow = Omit<Receipt, 'verified' | 'about'> & { verified: number | null; about: string | null };

/** Number of the next receipt, higher than the mark of each unfinished run, even if the newest rows are gone. */
const nextSeq = `1 + max((SELECT coalesce(max(seq), 0) FROM uploads), (SELECT coalesce(max(since), 0) FROM marks))`;

/**
 * Saves a receipt within a change of the database. An earlier receipt with the same key becomes `replaced` if it is
 * of another asset that this machine uploaded; otherwise it is deleted.
 *
 * @param id id of the unfinished upload, whose row becomes the receipt and is unlocked
 */
export function saveReceipt(database: StateDatabase, receipt: Receipt, id?: string): void {
  const replace = `UPDATE uploads SET state = 'replaced'
    WHERE ${byKey} AND ${isDone} AND asset <> ? AND imported = 0`;
  database.run(replace, ...keyOf(receipt), receipt.assetUid);
  const values = valuesOf(receipt);
  const finish = `UPDATE OR REPLACE uploads SET seq = ${nextSeq}, state = 'done',
      (${columns}) = (${placeholders}), entry = NULL, process = NULL, pid = NULL WHERE id = ? AND ${isUnfinished}`;
  if (id !== undefined && database.run(finish, ...values, id) > 0) return;
  const insert = `INSERT OR REPLACE INTO uploads (seq, state, ${columns}) VALUES (${nextSeq}, 'done', ${placeholders})`;
  database.run(insert, ...values);
}

export const keyOf = ({ service, workspace, folder, realPath }: ReceiptKey) => [service, workspace, folder, realPath];

const valuesOf = (receipt: Receipt) =>
  Object.keys(columnOf).map((field) => {
    const value = receipt[field as keyof Receipt] ?? null;
    if (typeof value === 'object' && value !== null) return JSON.stringify(value);
    return typeof value === 'boolean' ? Number(value) : value;
  });

export const withVerified = <Row extends { verified: number | null }>(row: Row) => ({
  ...row,
  verified: row.verified === null ? null : row.verified === 1,
});

export const receiptOf = <Row extends ReceiptRow>(row: Row) => ({
  ...withVerified(row),
  about: row.about === null ? null : (JSON.parse(row.about) as GivenMetadata),
});
