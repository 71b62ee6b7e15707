import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { ArgumentError } from '../argument-error.ts';

/** It tells its version in a fraction of a second; what does not is no ffmpeg. */
const answerMs = 10_000;

/**
 * The ffmpeg to use: the one that is named (MEDIACTL_FFMPEG), else the first on the search path, if
 * there is one that runs.
 * @throws Error where the named one cannot be run
 */
export async function findFfmpeg(
  named: string | undefined,
  searchPath: string | undefined,
): Promise<string | undefined> {
  if (named) {
    const path = /[/\\]/.test(named) ? resolve(named) : await onPath(named, searchPath);
    const problem = path ? await problemOf(path) : 'it is not on PATH';
    if (problem)
      throw new ArgumentError(`MEDIACTL_FFMPEG is ${named}, which cannot be used: ${problem}`);
    return path;
  }
  const path = await onPath('ffmpeg', searchPath);
  return path && !(await problemOf(path)) ? path : undefined;
}

async function onPath(name: string, searchPath = ''): Promise<string | undefined> {
  for (const folder of searchPath.split(delimiter).filter(Boolean)) {
    const path = resolve(join(folder, name));
    if (await access(path, constants.X_OK).then(yes, no)) return path;
  }
  return undefined;
}

const yes = () => true;
const no = () => false;

/** Why it is no ffmpeg that runs; undefined where it is one. */
async function problemOf(path: string): Promise<string | undefined> {
  const options = { timeout: answerMs, killSignal: 'SIGKILL' } as const;
  return promisify(execFile)(path, ['-version'], options).then(
    ({ stdout }) => (stdout.startsWith('ffmpeg version') ? undefined : 'it is no ffmpeg'),
    (error) => (error.killed ? 'it does not answer' : error.message.trim().split('\n')[0]),
  );
}
