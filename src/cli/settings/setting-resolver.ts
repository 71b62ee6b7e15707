import { dirname, join } from 'node:path';
import { CodedError } from '../../client/errors.ts';
import { readTextFile } from '../../client/read-file.ts';
import { isJsonObject } from '../../shared/json-values.ts';
import { projectFileName } from '../../shared/own-names.ts';
import {
  flagsOf,
  longOf,
  projectSettings,
  type RawSettings,
  type Setting,
  type SettingName,
  settingTable,
} from './setting-table.ts';

export type Environment = Record<string, string | undefined>;

/** Precedence of the sources for a setting; the source with the highest number wins. */
export const precedence = { flag: 4, variable: 3, project: 2, profile: 1, fallback: 0 } as const;

/** Resolves settings in order of precedence: flag, MEDIACTL_* variable, .mediactl.json, profile, default. */
export class SettingResolver {
  readonly #flags: RawSettings;
  readonly #environment: Environment;
  readonly #project: ProjectFile | undefined;
  #profile: { name: string; settings: Record<string, unknown> } | undefined;

  constructor(flags: RawSettings, environment: Environment, project: ProjectFile | undefined) {
    this.#flags = flags;
    this.#environment = environment;
    this.#project = project;
  }

  /** Adds a profile as a source for later calls of `resolve`. */
  useProfile(name: string, settings: Record<string, unknown>): void {
    this.#profile = { name, settings };
  }

  /** Returns a setting's value and its source, such as a flag, a variable, a file or the default. */
  resolve(name: SettingName) {
    const setting: Setting = settingTable[name];
    const flag = this.#flags[name];
    if (flag !== undefined) return { value: flag, origin: flagsOf(name).map(longOf).join(', '), rank: precedence.flag };
    const variable = setting.variable && this.#environment[setting.variable];
    if (variable) return { value: variable, origin: setting.variable as string, rank: precedence.variable };
    const project = setting.project && this.#project?.settings[name];
    if (project) return { value: project, origin: (this.#project as ProjectFile).path, rank: precedence.project };
    const stored = setting.profile && this.#profile?.settings[name];
    if (typeof stored === 'string')
      return { value: stored, origin: `profile ${this.#profile?.name}`, rank: precedence.profile };
    const origin = setting.fallback === undefined ? '' : 'default';
    return { value: setting.fallback, origin, rank: precedence.fallback };
  }
}

/** A parsed `.mediactl.json`. It must not set base URL or key, since a cloned repository could then steal keys. */
type ProjectFile = { path: string; settings: RawSettings };

/** Search for a project file: its first directory, and the user it is for. */
export type ProjectSearch = { cwd: string; uid: number | undefined; warn(message: string): void };

/**
 * Finds and parses `.mediactl.json` in this folder or the nearest parent; undefined if there is none. The file of
 * another user, except root, is ignored with a warning, since anyone can put one into a shared folder such as /tmp.
 *
 * @throws CodedError `invalid_config` (exit 2) if the file cannot be read or is invalid
 */
export function findProjectFile(search: ProjectSearch): ProjectFile | undefined {
  for (let folder = search.cwd; ; folder = dirname(folder)) {
    const file = readProjectFile(join(folder, projectFileName), search);
    if (file || dirname(folder) === folder) return file;
  }
}

class ForeignFileError extends Error {}

const projectFileError = (path: string, reason: string) =>
  new CodedError(`cannot use ${path}`, {
    code: 'invalid_config',
    reason,
    hint: `use a JSON object with any of ${projectSettings.join(', ')}`,
  });

function readProjectFile(path: string, { uid, warn }: ProjectSearch): ProjectFile | undefined {
  let parsed: unknown;
  try {
    const assertOwn = (found: { uid: number }) => {
      if (uid !== undefined && ![uid, 0].includes(found.uid)) throw new ForeignFileError();
    };
    parsed = JSON.parse(readTextFile(path, assertOwn));
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    if (error instanceof ForeignFileError) warn(`ignored ${path}: it belongs to another user`);
    else if (!['ENOENT', 'EACCES', 'ENOTDIR'].includes(code)) throw projectFileError(path, message);
    return undefined;
  }
  if (!isJsonObject(parsed)) throw projectFileError(path, 'it is not a JSON object');
  for (const [key, value] of Object.entries(parsed)) {
    if (!projectSettings.some((name) => name === key)) throw projectFileError(path, `it cannot set ${key}`);
    if (typeof value !== 'string') throw projectFileError(path, `${key} is not a string`);
  }
  return { path, settings: parsed as RawSettings };
}
