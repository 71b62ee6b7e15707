import { dirname, join } from 'node:path';
import { MediactlError } from '../../client/errors.ts';
import { readTextFile } from '../../client/read-file.ts';
import { projectSettings, type RawSettings } from './setting-table.ts';

/** A parsed `.mediactl.json`. It must not set base URL or key, since a cloned repository could then steal keys. */
export type ProjectFile = { path: string; settings: RawSettings };

/**
 * Finds and parses `.mediactl.json` in this folder or the nearest parent; undefined if there is none.
 *
 * @throws MediactlError `project_file` (exit 2) if the file cannot be read or is invalid
 */
export function findProjectFile(cwd: string): ProjectFile | undefined {
  for (let folder = cwd; ; folder = dirname(folder)) {
    const path = join(folder, '.mediactl.json');
    const text = readIfExists(path);
    if (text !== undefined) return parseProjectFile(path, text);
    if (dirname(folder) === folder) return undefined;
  }
}

function readIfExists(path: string): string | undefined {
  try {
    return readTextFile(path);
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    if (['ENOENT', 'EACCES', 'ENOTDIR'].includes(code)) return undefined;
    throw projectFileError(path, message);
  }
}

const projectFileError = (path: string, reason: string) =>
  new MediactlError(`cannot use ${path}`, {
    code: 'project_file',
    reason,
    hint: `it is a JSON object with any of ${projectSettings.join(', ')}`,
  });

function parseProjectFile(path: string, text: string): ProjectFile {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    throw projectFileError(path, (error as Error).message);
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    throw projectFileError(path, 'it is not an object');
  for (const [key, value] of Object.entries(parsed)) {
    if (!projectSettings.some((name) => name === key)) throw projectFileError(path, `it may not set ${key}`);
    if (typeof value !== 'string') throw projectFileError(path, `${key} is not a string`);
  }
  return { path, settings: parsed };
}
