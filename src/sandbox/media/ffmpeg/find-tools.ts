import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { ArgumentError } from '../../options.ts';

const versionTimeoutMs = 10_000;

/**
 * Finds ffmpeg: the program named by MEDIACTL_FFMPEG (`none` disables it), or else a working one on PATH.
 * @throws ArgumentError if the program named by MEDIACTL_FFMPEG cannot be run
 */
export async function findFfmpeg(
  named: string | undefined,
  searchPath: string | undefined,
): Promise<string | undefined> {
  if (named === 'none') return undefined;
  if (named) {
    const path = /[/\\]/.test(named) ? resolve(named) : await findOnPath(named, searchPath);
    const problem = path ? await checkTool(path, 'ffmpeg') : 'it is not on PATH';
    if (problem) throw new ArgumentError(`MEDIACTL_FFMPEG is ${named}, which cannot be used: ${problem}`);
    return path;
  }
  return findTool('ffmpeg', searchPath);
}

/** Options that print the version of a program. */
const versionOptions = { ffmpeg: '-version', pdftoppm: '-v' };
type ToolName = keyof typeof versionOptions;

/** Finds a program on PATH; returns undefined if it is missing or cannot be run. */
export async function findTool(name: ToolName, searchPath: string | undefined) {
  const path = await findOnPath(name, searchPath);
  return path && !(await checkTool(path, name)) ? path : undefined;
}

async function findOnPath(name: string, searchPath = ''): Promise<string | undefined> {
  for (const folder of searchPath.split(delimiter).filter(Boolean)) {
    const path = resolve(join(folder, name));
    try {
      await access(path, constants.X_OK);
      return path;
    } catch {
      // Try the next folder.
    }
  }
  return undefined;
}

/** Returns the reason why a program cannot be used; undefined if it is the expected one. */
async function checkTool(path: string, name: ToolName): Promise<string | undefined> {
  const options = { timeout: versionTimeoutMs, killSignal: 'SIGKILL' } as const;
  return promisify(execFile)(path, [versionOptions[name]], options).then(
    ({ stdout, stderr }) => ((stdout || stderr).startsWith(`${name} version`) ? undefined : `it is not ${name}`),
    (error) => (error.killed ? 'it does not respond' : error.message.trim().split('\n')[0]),
  );
}

/** Paths of optional programs, each undefined if it is missing. */
export type ToolPaths = Record<ToolName, string | undefined>;

const features: Record<ToolName, readonly string[]> = {
  ffmpeg: [
    ...['thumbnails', 'preview sprites', 'waveforms', 'smaller image variants', 'subtitles'],
    'playback of formats that browsers do not support',
  ],
  pdftoppm: ['PDF page thumbnails'],
};
const toolNames = ['ffmpeg', 'pdftoppm'] as const;

export const listMissingFeatures = (paths: ToolPaths): string[] =>
  toolNames.flatMap((name) => (paths[name] === undefined ? features[name] : []));

export const describeTools = (paths: ToolPaths): string =>
  toolNames
    .map((name) =>
      paths[name] ? `${name}: ${paths[name]}` : `${name} not found, so assets do not get ${features[name].join(', ')}`,
    )
    .join('; ');
