import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';

/** Generates pseudo-random bytes; the same seed gives the same bytes. */
export function someBytes(size: number, seed = 'seed'): Buffer {
  const bytes = Buffer.alloc(size);
  for (let at = 0, n = 0; at < size; at += 64, n++)
    createHash('sha512').update(`${seed} ${n}`).digest().copy(bytes, at);
  return bytes;
}

export function writeSome(path: string, size: number, seed?: string): Buffer {
  const bytes = someBytes(size, seed);
  writeFileSync(path, bytes);
  return bytes;
}

/** True if b3sum(1) is installed, the BLAKE3 oracle; tests that need it skip otherwise. */
export const hasB3sum = spawnSync('b3sum', ['--version']).status === 0;

export const b3sum = (path: string): string => execFileSync('b3sum', ['--no-names', path]).toString().trim();
