import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { ArgumentError } from '../../argument-error.ts';

/** The tools tell their version in a fraction of a second; what does not is something else. */
const answerMs = 10_000;

/**
 * The ffmpeg to use: the one that is named (MEDIACTL_FFMPEG), else the first on the search path, if
 * there is one that runs. `none` names none.
 * @throws Error where the named one cannot be run
 */
export async function findFfmpeg(
  named: string | undefined,
  searchPath: string | undefined,
): Promise<string | undefined> {
  if (named === 'none') return undefined;
  if (named) {
    const path = /[/\\]/.test(named) ? resolve(named) : await onPath(named, searchPath);
    const problem = path ? await problemOf(path, isFfmpeg) : 'it is not on PATH';
    if (problem)
      throw new ArgumentError(`MEDIACTL_FFMPEG is ${named}, which cannot be used: ${problem}`);
    return path;
  }
  return findRunning('ffmpeg', isFfmpeg, searchPath);
}

/** pdftoppm of poppler-utils: the first on the search path, if that runs. */
export const findPdftoppm = (searchPath: string | undefined): Promise<string | undefined> =>
  findRunning('pdftoppm', isPdftoppm, searchPath);

/** How a program tells that it is the one that is meant. */
type Mark = { name: string; option: string; says: RegExp };

const isFfmpeg: Mark = { name: 'ffmpeg', option: '-version', says: /^ffmpeg version/ };
const isPdftoppm: Mark = { name: 'pdftoppm', option: '-v', says: /^pdftoppm version/ };

async function findRunning(name: string, mark: Mark, searchPath: string | undefined) {
  const path = await onPath(name, searchPath);
  return path && !(await problemOf(path, mark)) ? path : undefined;
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

/** Why it is not the program that is meant, or does not run; undefined where it does. */
async function problemOf(path: string, { name, option, says }: Mark): Promise<string | undefined> {
  const options = { timeout: answerMs, killSignal: 'SIGKILL' } as const;
  return promisify(execFile)(path, [option], options).then(
    ({ stdout, stderr }) => (says.test(stdout || stderr) ? undefined : `it is no ${name}`),
    (error) => (error.killed ? 'it does not answer' : error.message.trim().split('\n')[0]),
  );
}
