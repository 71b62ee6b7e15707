import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ArgumentError } from '../argument-error.ts';

/** Names of files that a sandbox can leave if it is killed before it creates its database. */
const ownFileNames = [
  ...['sandbox.log', 'sandbox.log.1', 'lock', 'lock-journal', 'secret', 'secret.tmp', 'uploads', 'media'],
  ...['server.json', 'server.json.tmp', 'credentials.json', 'credentials.json.tmp'],
];

/**
 * Asserts that a folder contains no other files, since `sandbox reset` would delete them.
 *
 * @throws ArgumentError if the folder contains files but no sandbox database
 */
export function assertUsableDataFolder(dataDir: string): void {
  const names = entries(dataDir);
  if (names.includes('sandbox.db')) return;
  const isForeign = (name: string) =>
    !ownFileNames.includes(name) || (['uploads', 'media'].includes(name) && entries(join(dataDir, name)).length > 0);
  const hasForeignFiles = names.some(isForeign);
  if (hasForeignFiles && names.includes('credentials.json') && names.includes('media'))
    throw new ArgumentError(
      `${dataDir} held a sandbox, and its sandbox.db is gone; put it back, or name an empty folder`,
    );
  if (hasForeignFiles) throw new ArgumentError(`${dataDir} holds other files, and no sandbox; name an empty folder`);
}

function entries(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
