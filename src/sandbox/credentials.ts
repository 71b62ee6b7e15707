import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Sandbox } from './create.ts';
import { writeAtomically } from './files.ts';

/** API keys for the local user, one per set of scopes. Only credentials.json contains them in plain text. */
const credentials = z.object({ keys: z.object({ all: z.string(), read: z.string(), write: z.string() }) });

const newKeysNote = 'created new keys';

/**
 * Ensures that DIR/credentials.json contains valid keys, since the database stores only hashes.
 * @returns a note on why existing keys were replaced; undefined if none were replaced
 */
export function ensureCredentials(dataDir: string, sandbox: Sandbox): string | undefined {
  const path = join(dataDir, 'credentials.json');
  const existing = readCredentials(path);
  if (existing !== undefined && existing !== 'damaged' && sandbox.hasKey(existing.all)) return undefined;
  const isFirst = existing === undefined && !sandbox.hasKeys();
  const keys = {
    all: sandbox.createKey('all scopes'),
    read: sandbox.createKey('read only', ['Read Assets']),
    write: sandbox.createKey('read and write', ['Read Assets', 'Write Assets']),
  };
  writeAtomically(path, JSON.stringify({ keys }, null, 2));
  if (isFirst) return undefined;
  if (existing === undefined) return `credentials.json was missing; ${newKeysNote}`;
  if (existing === 'damaged') return `credentials.json could not be read; ${newKeysNote}`;
  return `sandbox.db did not contain the keys in credentials.json; ${newKeysNote}`;
}

function readCredentials(path: string) {
  try {
    return credentials.parse(JSON.parse(readFileSync(path, 'utf8'))).keys;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    if (code !== undefined) throw error;
    return 'damaged'; // incomplete, or written by another program
  }
}
