import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import type { Wanted } from './wanted.ts';

/** A part of what is wanted: one of so many, counted from 1. */
export type Shard = { number: number; of: number };

/**
 * Whether a file belongs to a shard, by its path below the directory that was named: machines that see the
 * same files under different roots agree, without a word between them.
 */
export function isInShard({ number, of }: Shard, { below, filename, path }: Wanted): boolean {
  const place = `${below}/${filename ?? basename(path)}`.normalize('NFC');
  return createHash('sha256').update(place).digest().readUIntBE(0, 6) % of === number - 1;
}
