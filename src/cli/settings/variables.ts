import { usageError } from '../../client/errors.ts';
import { readTextFile } from '../../client/read-file.ts';
import { closestSpellings } from '../../client/spelling.ts';
import type { Environment } from './setting-resolver.ts';
import { type Setting, settingNames, settingTable } from './setting-table.ts';

/** Variables of the program that set no setting, and what they do. */
export const otherVariables: [name: string, what: string][] = [
  ['MEDIACTL_API_KEY_FILE', 'file with the API key, as for a secret of Docker or systemd'],
  ['MEDIACTL_CONFIG_DIR', 'folder of the config file'],
  ['MEDIACTL_STATE_DIR', 'folder of upload state and the sandbox'],
  ['MEDIACTL_METRICS_TOKEN', 'token with which other machines may read the metrics of a worker'],
  ['MEDIACTL_KEY_STORE', 'where auth login stores keys: file or keychain'],
  ['MEDIACTL_PROJECT_FILE', 'none to ignore .mediactl.json, as in CI, where a commit could change it'],
  ['MEDIACTL_FFMPEG', 'ffmpeg program for the sandbox; defaults to the one on PATH; none to run without ffmpeg'],
];

/** Variables that are known but not documented. */
const internal = ['MEDIACTL_COMPLETION_TIMEOUT'];

/** Most letters by which an unknown variable differs from the one that is named for it. */
const maxMisspelled = 2;

/** Returns the variables that the program does not know, each with those that it may be a misspelling of. */
export function unknownVariables(environment: Environment): { name: string; similar: readonly string[] }[] {
  const names = Object.keys(environment).filter((name) => name.startsWith('MEDIACTL_'));
  if (names.length === 0) return [];
  const settings = settingNames.flatMap((name) => (settingTable[name] as Setting).variable ?? []);
  const known = new Set([...settings, ...otherVariables.map(([name]) => name), ...internal]);
  return names
    .filter((name) => !known.has(name))
    .map((name) => ({ name, similar: closestSpellings(name, [...known], maxMisspelled) }));
}

/** Returns the environment with the API key of the file that MEDIACTL_API_KEY_FILE names. @throws CodedError `usage` */
export function withKeyOfFile(environment: Environment): Environment {
  const { MEDIACTL_API_KEY_FILE: path, MEDIACTL_API_KEY: key } = environment;
  if (!path) return environment;
  if (key) throw usageError('MEDIACTL_API_KEY and MEDIACTL_API_KEY_FILE are both set', 'set one of them');
  try {
    return { ...environment, MEDIACTL_API_KEY: readTextFile(path).trim() };
  } catch (error) {
    throw usageError(`cannot read the key in MEDIACTL_API_KEY_FILE`, 'check the path', (error as Error).message);
  }
}
