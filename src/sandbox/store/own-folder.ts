import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ArgumentError } from '../argument-error.ts';

/** What a sandbox that a kill stopped before its database was there may have left. */
const ours = [
  ...[
    'sandbox.log',
    'sandbox.log.1',
    'lock',
    'lock-journal',
    'secret',
    'secret.tmp',
    'uploads',
    'media',
  ],
  ...['server.json', 'server.json.tmp', 'credentials.json', 'credentials.json.tmp'],
];

/**
 * A folder that holds something else is not made a sandbox's: `sandbox reset` would delete it.
 *
 * @throws ArgumentError where it has files, and no sandbox
 */
export function assertOwnFolder(dataDir: string): void {
  const names = entries(dataDir);
  if (names.includes('sandbox.db')) return;
  const isForeign = (name: string) =>
    !ours.includes(name) ||
    (['uploads', 'media'].includes(name) && entries(join(dataDir, name)).length > 0);
  const isForeignHere = names.some(isForeign);
  if (isForeignHere && names.includes('credentials.json') && names.includes('media'))
    throw new ArgumentError(
      `${dataDir} held a sandbox, and its sandbox.db is gone; put it back, or name an empty folder`,
    );
  if (isForeignHere)
    throw new ArgumentError(`${dataDir} holds other files, and no sandbox; name an empty folder`);
}

function entries(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
