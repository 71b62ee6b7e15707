import { execFileSync } from 'node:child_process';
import { createCipheriv, createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Generates pseudo-random bytes; the same seed gives the same bytes. */
export function pseudoRandomBytes(size: number, seed = 'seed'): Buffer {
  const key = createHash('sha256').update(seed).digest();
  return createCipheriv('aes-256-ctr', key, Buffer.alloc(16)).update(Buffer.alloc(size));
}

export function writeRandomFile(path: string, { size, seed }: { size: number; seed?: string }): Buffer {
  const bytes = pseudoRandomBytes(size, seed);
  writeFileSync(path, bytes);
  return bytes;
}

/** Computes a checksum by b3sum(1), the BLAKE3 oracle. */
export const b3sum = (path: string): string => execFileSync('b3sum', ['--no-names', path]).toString().trim();

/** Returns the content of each file in a directory, by its relative path. */
export const contentsOf = (directory: string) =>
  Object.fromEntries(
    readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => [path.slice(directory.length + 1), readFileSync(path, 'utf8')]),
  );
