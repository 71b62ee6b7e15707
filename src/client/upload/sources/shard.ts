import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import type { UploadCandidate } from './upload-candidate.ts';

/** Share of the files, such as number 3 of 10, for an upload split over several machines. Numbers start at 1. */
export type Shard = { number: number; total: number };

/**
 * Returns true if a file belongs to a shard. The shard depends only on a hash of the path relative to the given
 * directory, so that machines with different roots for the same files agree without communication.
 */
export function isInShard({ number, total }: Shard, { relativeDir, filename, path }: UploadCandidate): boolean {
  const relativePath = `${relativeDir}/${filename ?? basename(path)}`.normalize('NFC');
  return createHash('sha256').update(relativePath).digest().readUIntBE(0, 6) % total === number - 1;
}
