import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { exitCodes, MediactlError } from '../errors.ts';
import { type GivenFlags, projectSettings } from './table.ts';

/** `.mediactl.json`. It names no base URL and no key: a cloned repository must not steal keys. */
export type ProjectFile = { path: string; settings: GivenFlags };

/**
 * `.mediactl.json` of this folder or the nearest one above it. Read without a promise, as the
 * profiles are: node:fs/promises alone costs every command 2 ms.
 *
 * @throws MediactlError `project_file` (exit 2) where it is no such object
 */
export function findProjectFile(cwd: string): ProjectFile | undefined {
  for (let folder = cwd; ; folder = dirname(folder)) {
    const path = join(folder, '.mediactl.json');
    const text = readIfThere(path);
    if (text !== undefined) return parseProjectFile(path, text);
    if (dirname(folder) === folder) return undefined;
  }
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (['ENOENT', 'EACCES', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? ''))
      return undefined;
    throw error;
  }
}

function parseProjectFile(path: string, text: string): ProjectFile {
  const unusable = (reason: string) =>
    new MediactlError(`cannot use ${path}`, {
      code: 'project_file',
      exitCode: exitCodes.usage,
      reason,
      hint: `it is a JSON object with any of ${projectSettings.join(', ')}`,
    });
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    throw unusable((error as Error).message);
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    throw unusable('it is not an object');
  for (const [key, value] of Object.entries(parsed)) {
    if (!projectSettings.some((name) => name === key)) throw unusable(`it may not set ${key}`);
    if (typeof value !== 'string') throw unusable(`${key} is not a string`);
  }
  return { path, settings: parsed };
}
