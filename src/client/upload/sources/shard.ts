import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import type { UploadCandidate } from './upload-candidate.ts';

/** A part of the files, such as 3 of 10, for an upload split over several machines. Counted from 1. */
export type Shard = { number: number; total: number };

/**
 * Returns true if a file belongs to a shard, by a hash of its path relative to the given directory. Machines
 * that see the same files under different roots agree without communication.
 */
export function isInShard(
  { number, total }: Shard,
  { relativeDir, filename, path }: UploadCandidate,
): boolean {
  const relativePath = `${relativeDir}/${filename ?? basename(path)}`.normalize('NFC');
  return createHash('sha256').update(relativePath).digest().readUIntBE(0, 6) % total === number - 1;
}
