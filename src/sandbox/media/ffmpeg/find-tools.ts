import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { ArgumentError } from '../../options.ts';

/** Timeout for a tool to print its version, which normally takes a fraction of a second. */
const versionTimeoutMs = 10_000;

/**
 * Finds ffmpeg: the program named by MEDIACTL_FFMPEG (`none` disables it), or else the first ffmpeg on PATH.
 * Returns undefined if it is disabled, missing, or cannot be run.
 *
 * @throws ArgumentError if the program named by MEDIACTL_FFMPEG cannot be run
 */
export async function findFfmpeg(
  named: string | undefined,
  searchPath: string | undefined,
): Promise<string | undefined> {
  if (named === 'none') return undefined;
  if (named) {
    const path = /[/\\]/.test(named) ? resolve(named) : await findOnPath(named, searchPath);
    const problem = path ? await checkTool(path, ffmpegSignature) : 'it is not on PATH';
    if (problem) throw new ArgumentError(`MEDIACTL_FFMPEG is ${named}, which cannot be used: ${problem}`);
    return path;
  }
  return findRunning('ffmpeg', ffmpegSignature, searchPath);
}

/** Finds pdftoppm (poppler-utils) on PATH; returns undefined if it is missing or cannot be run. */
export const findPdftoppm = (searchPath: string | undefined): Promise<string | undefined> =>
  findRunning('pdftoppm', pdftoppmSignature, searchPath);

/** Option and expected output that identify a program. */
type ToolSignature = { name: string; option: string; expectedOutput: RegExp };

const ffmpegSignature: ToolSignature = {
  name: 'ffmpeg',
  option: '-version',
  expectedOutput: /^ffmpeg version/,
};
const pdftoppmSignature: ToolSignature = {
  name: 'pdftoppm',
  option: '-v',
  expectedOutput: /^pdftoppm version/,
};

async function findRunning(name: string, mark: ToolSignature, searchPath: string | undefined) {
  const path = await findOnPath(name, searchPath);
  return path && !(await checkTool(path, mark)) ? path : undefined;
}

async function findOnPath(name: string, searchPath = ''): Promise<string | undefined> {
  for (const folder of searchPath.split(delimiter).filter(Boolean)) {
    const path = resolve(join(folder, name));
    if (await access(path, constants.X_OK).then(yes, no)) return path;
  }
  return undefined;
}

const yes = () => true;
const no = () => false;

/** Returns the reason why a program cannot be used; undefined if it is the expected one. */
async function checkTool(path: string, { name, option, expectedOutput }: ToolSignature): Promise<string | undefined> {
  const options = { timeout: versionTimeoutMs, killSignal: 'SIGKILL' } as const;
  return promisify(execFile)(path, [option], options).then(
    ({ stdout, stderr }) => (expectedOutput.test(stdout || stderr) ? undefined : `it is no ${name}`),
    (error) => (error.killed ? 'it does not answer' : error.message.trim().split('\n')[0]),
  );
}
