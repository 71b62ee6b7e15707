import { renameSync, writeFileSync } from 'node:fs';

/**
 * Writes JSON atomically (temporary file and atomic rename), readable by this user only. Readers
 * and crashes never see a partial file.
 */
export function writeJsonAtomically(path: string, value: unknown): void {
  writeFileSync(`${path}.tmp`, JSON.stringify(value, null, 2), { mode: 0o600 });
  renameSync(`${path}.tmp`, path);
}
