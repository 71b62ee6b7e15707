import { execFileSync } from 'node:child_process';
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

/** Debian's own BLAKE3, the oracle; undefined where it is not installed. */
export function b3sum(path: string): string | undefined {
  try {
    return execFileSync('b3sum', ['--no-names', path], { stdio: ['ignore', 'pipe', 'ignore'] })
      .toString()
      .trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
