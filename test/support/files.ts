import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';

/** Bytes that never repeat within a file, the same for the same seed. */
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

/** Debian's own BLAKE3, the oracle; tests that need it are skipped where it is not installed. */
export const hasB3sum = spawnSync('b3sum', ['--version']).status === 0;

export const b3sum = (path: string): string =>
  execFileSync('b3sum', ['--no-names', path]).toString().trim();
