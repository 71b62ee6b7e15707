import { dirname, join } from 'node:path';
import { exitCodes, MediactlError } from '../../client/errors.ts';
import { readTextFile } from '../../client/read-file.ts';
import { type GivenFlags, projectSettings } from './table.ts';

/** `.mediactl.json`. It names no base URL and no key: a cloned repository must not steal keys. */
export type ProjectFile = { path: string; settings: GivenFlags };

/**
 * Finds `.mediactl.json` in this folder, or the nearest one above it.
 *
 * @throws MediactlError `project_file` (exit 2) if it is not a file with such an object
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
    return readTextFile(path);
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    if (['ENOENT', 'EACCES', 'ENOTDIR'].includes(code)) return undefined;
    throw unusable(path, message);
  }
}

const unusable = (path: string, reason: string) =>
  new MediactlError(`cannot use ${path}`, {
    code: 'project_file',
    exitCode: exitCodes.usage,
    reason,
    hint: `it is a JSON object with any of ${projectSettings.join(', ')}`,
  });

function parseProjectFile(path: string, text: string): ProjectFile {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    throw unusable(path, (error as Error).message);
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    throw unusable(path, 'it is not an object');
  for (const [key, value] of Object.entries(parsed)) {
    if (!projectSettings.some((name) => name === key))
      throw unusable(path, `it may not set ${key}`);
    if (typeof value !== 'string') throw unusable(path, `${key} is not a string`);
  }
  return { path, settings: parsed };
}
