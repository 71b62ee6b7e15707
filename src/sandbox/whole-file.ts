import { renameSync, writeFileSync } from 'node:fs';

/** Writes JSON so that nobody reads half of it, and a kill leaves none. For this user alone. */
export function writeWhole(path: string, value: unknown): void {
  writeFileSync(`${path}.tmp`, JSON.stringify(value, null, 2), { mode: 0o600 });
  renameSync(`${path}.tmp`, path);
}
