import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { blake3 } from '@napi-rs/blake-hash';
import { pseudoRandomBytes } from './files.ts';

/** Writes `count` different files. @returns the BLAKE3 digest of each by name */
export function writeManyFiles(
  folder: string,
  { count, bytes = 2_000 }: { count: number; bytes?: number },
): Map<string, string> {
  mkdirSync(folder, { recursive: true });
  const block = pseudoRandomBytes(bytes, folder);
  const digests = new Map<string, string>();
  for (let n = 0; n < count; n++) {
    const name = `shot ${String(n).padStart(5, '0')}.bin`;
    const content = Buffer.from(block);
    content.writeUInt32BE(n);
    writeFileSync(join(folder, name), content);
    digests.set(name, Buffer.from(blake3(content)).toString('hex'));
  }
  return digests;
}
