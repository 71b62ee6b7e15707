import type { EvidenceKind } from '../../../shared/file-evidence.ts';
import type { StateDatabase } from '../../state/state-database.ts';
import { isDone, kindOf, type Receipt, withVerified } from './receipt-row.ts';

/** Knowledge of this machine about an asset; see `findKnownAsset`. */
export type KnownAsset = {
  isOwn: boolean;
  /** Paths from which this machine has uploaded it; empty if it has not, or not yet, or if its processing has failed. */
  ownPaths: string[];
  /** BLAKE3 of its content, and how that is known. */
  content: { blake3: string; evidence: EvidenceKind } | undefined;
  /** Paths of files that have its name and size and were not compared. */
  uncomparedPaths: string[];
};

/** Record of a download to a path. @property blake3 of the bytes that the service sent */
export type DownloadedFile = Pick<Receipt, 'assetUid' | 'sizeBytes' | 'mtimeNs' | 'ctimeNs' | 'verified'> & {
  blake3: string;
  recordSize: number | null;
};

/** Returns what this machine knows of an asset; undefined if it knows nothing. */
export async function findKnownAsset(database: StateDatabase, assetUid: string): Promise<KnownAsset | undefined> {
  type Row = Pick<Receipt, 'blake3' | 'sessionUid' | 'evidence'> & {
    path: string | null;
    imported: number;
    verified: number | null;
    isUsable: number;
  };
  // The content that a download has shown comes first.
  const sql = `SELECT NULL AS path, 1 AS imported, blake3, 1 AS verified, '' AS sessionUid, 'bytes' AS evidence, 0 AS isUsable
      FROM listed_assets WHERE asset = ? AND blake3 IS NOT NULL
    UNION ALL SELECT path, imported, blake3, verified, session, evidence, ${isDone} AND processing <> 'failed'
      FROM uploads WHERE asset = ? AND guessed = 0`;
  const rows = await database.select<Row>(sql, assetUid, assetUid);
  if (rows.length === 0) return undefined;
  const compared = rows.find(({ blake3 }) => blake3 !== null);
  const verified = compared?.verified === 0 ? true : compared?.verified === 1 || null; // corrected by a download
  return {
    isOwn: rows.some(({ imported }) => imported === 0),
    ownPaths: rows.flatMap(({ path, imported, isUsable }) => (path && imported === 0 && isUsable ? [path] : [])),
    content: compared?.blake3 ? { blake3: compared.blake3, evidence: kindOf({ ...compared, verified }) } : undefined,
    uncomparedPaths: rows.flatMap(({ path, blake3 }) => (blake3 === null && path !== null ? [path] : [])),
  };
}

/** Returns what was downloaded to a path last, whatever is there now. */
export async function findDownloadedFile(
  database: StateDatabase,
  service: string,
  realPath: string,
): Promise<DownloadedFile | undefined> {
  const sql = `SELECT asset AS assetUid, size AS sizeBytes, mtime_ns AS mtimeNs, ctime_ns AS ctimeNs, blake3, verified,
    record_size AS recordSize FROM downloads WHERE path = ? AND service = ? AND state IN ('done', 'whole') ORDER BY state DESC`;
  type Row = Omit<DownloadedFile, 'verified'> & { verified: number | null };
  const row = await database.selectFirst<Row>(sql, realPath, service);
  return row && withVerified(row);
}

/** Content of an asset, as its record shows it or as a download has. @property foundAt time of that, in ISO 8601 */
export type FoundContent = { blake3: string; sizeBytes: number; evidence: 'checksum' | 'bytes'; foundAt: string };

/**
 * Records, within a change of the database, the content of an asset in the receipts of its files. A file with another
 * content is no longer uploaded: its receipt has the content of the asset, and no times.
 */
export function saveAssetContent(
  database: StateDatabase,
  assetUid: string,
  { blake3, sizeBytes, evidence, foundAt: at }: FoundContent,
): void {
  const where = `WHERE asset = ? AND ${isDone} AND blake3`;
  const equal = `UPDATE uploads SET verified = 1, evidence = ?, evidence_at = ? ${where} = ?`;
  database.run(equal, evidence, at, assetUid, blake3);
  const other = `UPDATE uploads SET verified = 0, evidence = 'contradicted', evidence_at = ?, blake3 = ?, size = ?,
    source_version = '0', ctime_ns = NULL ${where} <> ?`;
  database.run(other, at, blake3, sizeBytes, assetUid, blake3);
}
