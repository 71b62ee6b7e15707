import type { Profile, ProfileConfig } from '../account/profile-file.ts';
import { exitCodes, MediactlError, usageError } from '../errors.ts';
import { type Format, formats, type Shape } from '../terminal/format.ts';
import { findProjectFile } from './project-file.ts';
import { type Environment, Origins, ranks, type SettingName } from './sources.ts';
import { parseDuration } from './units.ts';

export type { Environment } from './sources.ts';

/** Options that every command takes, as Commander gives them. */
export type GlobalOptions = {
  profile?: string;
  workspace?: string;
  baseUrl?: string;
  json?: boolean;
  jsonl?: boolean;
  csv?: boolean;
  tsv?: boolean;
  quiet?: boolean;
  fields?: string;
  jq?: string;
  yes?: boolean;
  dryRun?: boolean;
  input?: boolean;
  color?: string;
  requestTimeout?: string;
  maxWait?: string;
  debug?: boolean | string;
};

/** What flags, variables, the project file and the profile come to. */
export type Settings = {
  /** The profile asked for, which may not be there. */
  profile?: string | undefined;
  /** The profile asked for, else the current one; none where key and base URL are given without it. */
  inUse: { name: string | undefined; profile: Profile | undefined };
  workspace?: string | undefined;
  /** Whether --workspace was given with this very command. */
  workspaceAsked: boolean;
  /** Where uploads go; --folder of upload comes first. */
  folder?: string | undefined;
  baseUrl?: string | undefined;
  apiKey?: string | undefined;
  shape: Shape;
  yes: boolean;
  dryRun: boolean;
  input: boolean;
  color: 'auto' | 'always' | 'never';
  /** Milliseconds of silence; unset, 30 s for a call and 120 s for a chunk. */
  requestTimeoutMs: number | undefined;
  maxWaitMs: number;
  debug: false | 'on' | 'http';
  /** Which source each came from, for `config ls --show-origin`. */
  origins: Origins;
};

/** @throws MediactlError exit 2 where a value is not one that the setting takes */
export function resolveSettings(
  options: GlobalOptions,
  environment: Environment,
  cwd: string,
  config: ProfileConfig,
): Settings {
  const origins = new Origins(flagsOf(options), environment, findProjectFile(cwd));
  const value = (name: SettingName) => origins.of(name).value;
  const apiKey = value('api_key');
  const baseUrl = value('base_url');
  const { value: asked, rank } = origins.of('profile');
  // Key and base URL are a whole account: what a repository calls its profile need not be here.
  const isWhole = Boolean(apiKey && baseUrl);
  const profile = isWhole && rank === ranks.project ? undefined : asked;
  const name = profile ?? (isWhole ? undefined : config.current);
  const kept = name === undefined ? undefined : config.profiles[name];
  origins.useProfile(name, kept && { workspace: kept.workspace, ...kept.settings });
  const requestTimeout = value('request_timeout');
  return {
    profile,
    inUse: { name, profile: kept },
    folder: value('folder'),
    workspaceAsked: options.workspace !== undefined,
    workspace: value('workspace'),
    baseUrl,
    apiKey,
    shape: shapeOf(origins),
    yes: isOn('MEDIACTL_YES', value('yes')),
    dryRun: isOn('MEDIACTL_DRY_RUN', value('dry_run')),
    input: !isOn('MEDIACTL_NO_INPUT', value('no_input')),
    color: oneOf('--color', ['auto', 'always', 'never'], value('color') as string),
    requestTimeoutMs: requestTimeout
      ? parseDuration('--request-timeout', requestTimeout)
      : undefined,
    maxWaitMs: parseDuration('--max-wait', value('max_wait') as string),
    debug: debugLevel(value('debug')),
    origins,
  };
}

/** Commander's options under the names of the settings. */
function flagsOf(options: GlobalOptions): Partial<Record<SettingName, string | undefined>> {
  const on = (flag: boolean | undefined) => (flag ? '1' : undefined);
  return {
    profile: options.profile,
    base_url: options.baseUrl,
    workspace: options.workspace,
    output: formatAsked(options),
    fields: options.fields,
    jq: options.jq,
    yes: on(options.yes),
    dry_run: on(options.dryRun),
    no_input: on(options.input === false),
    color: options.color,
    request_timeout: options.requestTimeout,
    max_wait: options.maxWait,
    debug: options.debug === true ? '1' : options.debug || undefined,
  };
}

function formatAsked(options: GlobalOptions): Format | undefined {
  const [asked, other] = formats.filter((format) => format !== 'human' && options[format]);
  if (other) throw exclusive(`--${asked}`, `--${other}`);
  return asked;
}

const exclusive = (one: string, other: string) =>
  usageError(`${one} and ${other} exclude each other`, 'give one of them');

function shapeOf(origins: Origins): Shape {
  const [output, filter] = [origins.of('output'), origins.of('jq')];
  let format = oneOf('MEDIACTL_OUTPUT', formats, output.value as string);
  let jq = filter.value;
  // jq reads JSON. Where both were typed that is a mistake; else the stronger source wins.
  if (jq !== undefined && format !== 'human' && !format.startsWith('json')) {
    if (output.rank === filter.rank && output.rank === ranks.flag)
      throw exclusive('--jq', `--${format}`);
    if (filter.rank >= output.rank) format = 'json';
    else jq = undefined;
  }
  const fields = origins.of('fields').value;
  const paths = fields?.split(',').map((path) => path.trim());
  if (paths?.includes('')) throw usageError(`--fields does not take '${fields}'`, 'name,status');
  return { format, fields: paths, jq };
}

function debugLevel(value: string | undefined): Settings['debug'] {
  if (value === undefined) return false;
  const level = oneOf('--debug', ['on', 'http', '1', 'true', '0', 'false', 'off'], value);
  return level === 'http' ? 'http' : ['on', '1', 'true'].includes(level) && 'on';
}

/** @throws MediactlError exit 2: nobody should have to guess whether `off` deletes */
function isOn(name: string, value: string | undefined): boolean {
  if (value === undefined) return false;
  return ['1', 'true'].includes(oneOf(name, ['1', 'true', '0', 'false'], value));
}

/** A value from a fixed set, or a usage error that lists the set. */
export function oneOf<T extends string>(name: string, allowed: readonly T[], value: string): T {
  if ((allowed as readonly string[]).includes(value)) return value as T;
  throw new MediactlError(`${name} does not take '${value}'`, {
    code: 'usage',
    exitCode: exitCodes.usage,
    hint: `one of ${allowed.join(', ')}`,
  });
}
