import { defaultIdleTimeoutMs } from '../../contract/tus.ts';
import { formats } from './output-options.ts';
import {
  debugLevel,
  duration,
  fieldNames,
  oneOf,
  onOrOff,
  positiveDuration,
  queueAddress,
  type SettingKind,
  text,
  workspaceUid,
} from './setting-kinds.ts';

/** Default time for which a server may be silent, for requests and for uploads. */
export const silence = { requestMs: 30_000, uploadMs: defaultIdleTimeoutMs };

export const defaultMaxWait = '1h';

/** A command-line option that sets a setting, in Commander's syntax. */
export type SettingFlag = {
  flags: string;
  help: string;
  /** Value to set if the option takes no argument; `1` by default. */
  impliedValue?: string;
  /** Option after which help lists this option, if that is not the option in the previous row. */
  after?: string;
};

export type Setting = {
  kind: SettingKind<unknown, unknown>;
  flags?: readonly SettingFlag[];
  /** Absent for a setting that must be typed, because it changes what a command does or prints. */
  variable?: string;
  /** True if `.mediactl.json` is allowed to contain the setting. */
  project?: true;
  /** True if `config set` can store the setting in a profile. */
  profile?: true;
  fallback?: string;
  /** Kind of names that shell completion suggests as values. */
  suggests?: 'profiles' | 'workspaces' | 'folders';
  /** Description for `help environment`, if it is not that of the first option. */
  what?: string;
};

/**
 * All settings, in the order shown by `config ls` and the documentation. To add a setting, add a row, since
 * options, properties in `Settings`, `config`, help and completion are derived from the table.
 */
export const settingTable = {
  profile: {
    kind: text,
    flags: [{ flags: '--profile <name>', help: 'profile to use' }],
    variable: 'MEDIACTL_PROFILE',
    project: true,
    suggests: 'profiles',
  },
  api_key: { kind: text, variable: 'MEDIACTL_API_KEY', what: 'API key, instead of the profile’s' },
  base_url: {
    kind: text,
    flags: [{ flags: '--base-url <url>', help: 'base URL of the service, such as https://media.example.com' }],
    variable: 'MEDIACTL_BASE_URL',
  },
  workspace: {
    kind: text,
    flags: [{ flags: '-w, --workspace <workspace>', help: 'workspace, by uid or name', after: '--profile' }],
    variable: 'MEDIACTL_WORKSPACE',
    project: true,
    profile: true,
  },
  primary_workspace: {
    kind: workspaceUid,
    variable: 'MEDIACTL_PRIMARY_WORKSPACE',
    profile: true,
    what: 'uid of the primary workspace, if the service does not show which one it is',
  },
  folder: { kind: text, variable: 'MEDIACTL_FOLDER', project: true, profile: true, what: 'default folder for uploads' },
  field_names: {
    kind: fieldNames,
    variable: 'MEDIACTL_FIELD_NAMES',
    what: 'names of the service’s fields, such as asset_parent=folder; see help assumptions',
  },
  queue: {
    kind: queueAddress,
    variable: 'MEDIACTL_QUEUE',
    profile: true,
    what: 'upload queue that several machines share: redis://HOST or rediss://HOST',
  },
  format: {
    kind: oneOf(formats),
    flags: [
      {
        flags: '--format <format>',
        help: 'output format: table, json, jsonl, csv, tsv or uid',
      },
      {
        flags: '--json',
        help: 'print JSON: an array for a list, also of one asset; an object for another record',
        impliedValue: 'json',
      },
      { flags: '--jsonl', help: 'print one JSON object per line, as pages arrive', impliedValue: 'jsonl' },
      { flags: '--csv', help: 'print comma-separated values with a header', impliedValue: 'csv' },
      { flags: '-q, --quiet', help: 'print only uids, one per line', impliedValue: 'uid', after: '--jq' },
    ],
    variable: 'MEDIACTL_FORMAT',
    project: true,
    profile: true,
    fallback: 'table',
  },
  fields: {
    kind: text,
    flags: [{ flags: '--fields <paths>', help: 'print only these fields, such as name,player_config.theme' }],
  },
  jq: {
    kind: text,
    flags: [{ flags: '--jq <filter>', help: 'filter the JSON with jq (built in)' }],
  },
  yes: {
    kind: onOrOff,
    flags: [{ flags: '-y, --yes', help: 'answer yes to all prompts' }],
  },
  dry_run: {
    kind: onOrOff,
    flags: [{ flags: '-n, --dry-run', help: 'show what would change, without changing anything' }],
  },
  no_input: {
    kind: onOrOff,
    flags: [{ flags: '--no-input', help: 'never prompt; fail if an answer is needed' }],
    variable: 'MEDIACTL_NO_INPUT',
    what: '1: never prompt',
  },
  pager: {
    kind: text,
    flags: [{ flags: '--no-pager', help: 'do not use a pager for long output', impliedValue: 'cat' }],
    variable: 'MEDIACTL_PAGER',
    profile: true,
    what: 'pager for long output on a terminal; defaults to PAGER, or to less if it is installed; cat for none',
  },
  request_timeout: {
    kind: positiveDuration,
    flags: [
      {
        flags: '--request-timeout <duration>',
        help: `give up when the server is silent this long (${silence.requestMs / 1000}s; ${silence.uploadMs / 1000}s for uploads)`,
      },
    ],
    variable: 'MEDIACTL_REQUEST_TIMEOUT',
    profile: true,
  },
  max_wait: {
    kind: duration,
    flags: [
      {
        flags: '--max-wait <duration>',
        help: `maximum total wait for rate limits and outages (${defaultMaxWait}; upload and sync wait for rate limits without limit)`,
      },
    ],
    variable: 'MEDIACTL_MAX_WAIT',
    profile: true,
    fallback: defaultMaxWait,
  },
  debug: {
    kind: debugLevel,
    flags: [{ flags: '--debug <mode>', help: 'print debug output on stderr; --debug=http also logs every request' }],
    variable: 'MEDIACTL_DEBUG',
    what: '1: print debug output on stderr; http: also log every request',
  },
} as const satisfies Record<string, Setting>;

export type SettingName = keyof typeof settingTable;

/** Unparsed values of settings, from the command line or a project file. */
export type RawSettings = Partial<Record<SettingName, string>>;

export const settingNames = Object.keys(settingTable) as SettingName[];

/** Settings that `config set` can store in a profile. It can also store `field_names.*`, which are not settings. */
export const profileSettings = settingNames.filter((name) => 'profile' in settingTable[name]);

export const projectSettings = settingNames.filter((name) => 'project' in settingTable[name]);

export const flagsOf = (name: SettingName) => (settingTable[name] as Setting).flags ?? [];

/** Returns the long form of an option, such as `--base-url` for `--base-url <url>`. */
export const longOf = ({ flags }: SettingFlag) => /--[\w-]+/.exec(flags)?.[0] as string;

/** Returns a setting's name for error messages, which is its option if that takes a value, else its variable. */
export function displayName(name: SettingName): string {
  const flag = flagsOf(name).find(({ flags }) => flags.includes('<'));
  return flag ? longOf(flag) : ((settingTable[name] as Setting).variable ?? name);
}

/** Returns the global options with the names of their settings, in the order in which help lists them. */
export function settingFlags() {
  const all = settingNames.flatMap((name) => flagsOf(name).map((flag) => ({ name, flag })));
  const listed = all.filter(({ flag }) => flag.after === undefined);
  for (const each of all.filter(({ flag }) => flag.after !== undefined)) {
    const before = listed.findIndex(({ flag }) => longOf(flag) === each.flag.after);
    listed.splice(before + 1, 0, each);
  }
  return listed;
}
