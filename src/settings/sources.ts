import type { ProjectFile } from './project-file.ts';

export type Environment = Record<string, string | undefined>;

/** Where one setting may come from. */
type Source = {
  /** Its flag; every flag has a variable. */
  flag?: string;
  variable: string;
  /** May stand in `.mediactl.json`. */
  project?: true;
  /** May stand in a profile, by `config set`. */
  profile?: true;
  fallback?: string;
  what: string;
};

/** Every setting, in the order that `config ls` and the documentation show them. */
export const sources = {
  profile: {
    flag: '--profile',
    variable: 'MEDIACTL_PROFILE',
    project: true,
    what: 'account to act as',
  },
  api_key: { variable: 'MEDIACTL_API_KEY', what: 'API key, in place of the profile’s' },
  base_url: { flag: '--base-url', variable: 'MEDIACTL_BASE_URL', what: 'service host' },
  workspace: {
    flag: '--workspace',
    variable: 'MEDIACTL_WORKSPACE',
    project: true,
    profile: true,
    what: 'workspace, by uid or name',
  },
  folder: {
    variable: 'MEDIACTL_FOLDER',
    project: true,
    profile: true,
    what: 'folder that uploads go to',
  },
  output: {
    flag: '--json, --jsonl, --csv, --tsv, --quiet',
    variable: 'MEDIACTL_OUTPUT',
    project: true,
    profile: true,
    fallback: 'human',
    what: 'form of results: human, json, jsonl, csv, tsv or quiet',
  },
  fields: { flag: '--fields', variable: 'MEDIACTL_FIELDS', what: 'fields to print' },
  jq: { flag: '--jq', variable: 'MEDIACTL_JQ', what: 'filter over the JSON' },
  yes: { flag: '--yes', variable: 'MEDIACTL_YES', what: '1: answer yes to every question' },
  dry_run: { flag: '--dry-run', variable: 'MEDIACTL_DRY_RUN', what: '1: change nothing' },
  no_input: { flag: '--no-input', variable: 'MEDIACTL_NO_INPUT', what: '1: never ask' },
  color: {
    flag: '--color',
    variable: 'MEDIACTL_COLOR',
    profile: true,
    fallback: 'auto',
    what: 'auto, always or never; NO_COLOR and FORCE_COLOR count too',
  },
  request_timeout: {
    flag: '--request-timeout',
    variable: 'MEDIACTL_REQUEST_TIMEOUT',
    profile: true,
    what: 'longest silence of a connection',
  },
  max_wait: {
    flag: '--max-wait',
    variable: 'MEDIACTL_MAX_WAIT',
    profile: true,
    fallback: '1h',
    what: 'longest wait in all for rate limits and outages',
  },
  debug: { flag: '--debug', variable: 'MEDIACTL_DEBUG', what: '1 or http: say more on stderr' },
} as const satisfies Record<string, Source>;

export type SettingName = keyof typeof sources;

/** Settings that `config set` keeps in a profile, besides `names.*`. */
export const profileSettings = (Object.keys(sources) as SettingName[]).filter(
  (name) => 'profile' in sources[name],
);

/** A value, and the flag, variable or file that gave it. */
export type Sourced = {
  value: string | undefined;
  origin: string;
  rank: (typeof ranks)[keyof typeof ranks];
};

/** Which source comes first: the higher. */
export const ranks = { flag: 4, variable: 3, project: 2, profile: 1, fallback: 0 } as const;

/** Flag > MEDIACTL_* variable > .mediactl.json > profile > default. */
export class Origins {
  readonly #flags: Partial<Record<SettingName, string | undefined>>;
  readonly #environment: Environment;
  readonly #project: ProjectFile | undefined;
  #profile: { name: string; settings: Record<string, unknown> } | undefined;

  constructor(
    flags: Partial<Record<SettingName, string | undefined>>,
    environment: Environment,
    project: ProjectFile | undefined,
  ) {
    this.#flags = flags;
    this.#environment = environment;
    this.#project = project;
  }

  /** What is asked for after this may come from that profile too. */
  useProfile(name: string | undefined, settings: Record<string, unknown> | undefined): void {
    this.#profile = name !== undefined && settings ? { name, settings } : undefined;
  }

  of(name: SettingName): Sourced {
    const source: Source = sources[name];
    const flag = this.#flags[name];
    if (flag !== undefined) return { value: flag, origin: source.flag ?? 'flag', rank: ranks.flag };
    const variable = this.#environment[source.variable];
    if (variable) return { value: variable, origin: source.variable, rank: ranks.variable };
    const project = source.project && this.#project?.[name as keyof ProjectFile];
    if (project)
      return { value: project, origin: (this.#project as ProjectFile).path, rank: ranks.project };
    const kept = source.profile && this.#profile?.settings[name];
    if (typeof kept === 'string')
      return { value: kept, origin: `profile ${this.#profile?.name}`, rank: ranks.profile };
    const origin = source.fallback === undefined ? '' : 'default';
    return { value: source.fallback, origin, rank: ranks.fallback };
  }
}
