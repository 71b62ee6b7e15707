import { renameSync, writeFileSync } from 'node:fs';

/**
 * Writes a JSON file that only this user can read. The file is renamed into place, so that readers never see a
 * partial file, even after a crash.
 */
export function writeJsonAtomically(path: string, value: unknown): void {
  writeFileSync(`${path}.tmp`, JSON.stringify(value, null, 2), { mode: 0o600 });
  renameSync(`${path}.tmp`, path);
}
