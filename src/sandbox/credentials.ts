import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Sandbox } from './create.ts';
import { writeAtomically } from './files.ts';

/** API keys for the local user, one per set of scopes. Only credentials.json contains them in plain text. */
type Credentials = { all: string; read: string; write: string };

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
  const keys: Credentials = {
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

function readCredentials(path: string): Credentials | 'damaged' | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const { keys } = JSON.parse(text) as { keys: Credentials };
    return [keys.all, keys.read, keys.write].every((key) => typeof key === 'string') ? keys : 'damaged';
  } catch {
    return 'damaged'; // incomplete, or written by another program
  }
}
