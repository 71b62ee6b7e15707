import type { ProjectFile } from './project-file.ts';
import {
  flagsOf,
  type GivenFlags,
  longOf,
  type Setting,
  type SettingName,
  table,
} from './table.ts';

/** Environment variables of the process. */
export type Environment = Record<string, string | undefined>;

/** A setting's value and where it comes from: a flag, variable, file or default. */
export type Sourced = {
  value: string | undefined;
  origin: string;
  rank: (typeof ranks)[keyof typeof ranks];
};

/** Precedence of the sources of a setting; the highest wins. */
export const ranks = { flag: 4, variable: 3, project: 2, profile: 1, fallback: 0 } as const;

/** Resolves settings by precedence: flag > MEDIACTL_* variable > .mediactl.json > profile > default. */
export class Origins {
  readonly #flags: GivenFlags;
  readonly #environment: Environment;
  readonly #project: ProjectFile | undefined;
  #profile: { name: string; settings: Record<string, unknown> } | undefined;

  constructor(flags: GivenFlags, environment: Environment, project: ProjectFile | undefined) {
    this.#flags = flags;
    this.#environment = environment;
    this.#project = project;
  }

  /** Adds a profile as a source for later calls of `resolve`. */
  useProfile(name: string, settings: Record<string, unknown>): void {
    this.#profile = { name, settings };
  }

  of(name: SettingName): Sourced {
    const setting: Setting = table[name];
    const flag = this.#flags[name];
    if (flag !== undefined)
      return { value: flag, origin: flagsOf(name).map(longOf).join(', '), rank: ranks.flag };
    const variable = this.#environment[setting.variable];
    if (variable) return { value: variable, origin: setting.variable, rank: ranks.variable };
    const project = setting.project && this.#project?.settings[name];
    if (project)
      return { value: project, origin: (this.#project as ProjectFile).path, rank: ranks.project };
    const kept = setting.profile && this.#profile?.settings[name];
    if (typeof kept === 'string')
      return { value: kept, origin: `profile ${this.#profile?.name}`, rank: ranks.profile };
    const origin = setting.fallback === undefined ? '' : 'default';
    return { value: setting.fallback, origin, rank: ranks.fallback };
  }
}
