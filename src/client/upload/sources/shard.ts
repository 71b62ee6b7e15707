import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import type { Wanted } from './wanted.ts';

/** A part of the files, such as 3 of 10, for an upload split over several machines. Counted from 1. */
export type Shard = { number: number; of: number };

/**
 * Returns true if a file belongs to a shard, by a hash of its path relative to the given directory. Machines
 * that see the same files under different roots agree without communication.
 */
export function isInShard({ number, of }: Shard, { below, filename, path }: Wanted): boolean {
  const place = `${below}/${filename ?? basename(path)}`.normalize('NFC');
  return createHash('sha256').update(place).digest().readUIntBE(0, 6) % of === number - 1;
}
