import { usageError } from '../../client/errors.ts';
import type { Shape } from './format.ts';
import { text } from './kinds.ts';
import { type Environment, Origins, ranks } from './origins.ts';
import { findProjectFile } from './project-file.ts';
import {
  flagsOf,
  type GivenFlags,
  longOf,
  type Setting,
  type SettingName,
  settingNames,
  spokenName,
  table,
} from './table.ts';

type Table = typeof table;

/** Converts snake case to camel case: `max_wait` to `maxWait`. */
type Camel<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<Camel<Rest>>}`
  : Name;

type Kinds = { [Name in SettingName]: Table[Name]['kind'] };
type Value<Name extends SettingName> =
  | ReturnType<Kinds[Name]['read']>
  | (Table[Name] extends { fallback: string } ? never : Kinds[Name]['unset']);

/** Values of all settings, one property each: `max_wait`, a duration, becomes `maxWaitMs`. */
type Values = {
  readonly [Name in SettingName as `${Camel<Name>}${Kinds[Name]['suffix']}`]: Value<Name>;
};

/** Effective settings, resolved from flags, variables, project file, profile and defaults. */
export type Settings = Values & {
  /** The requested or current profile; undefined if key and base URL are given without one. */
  profileInUse: string | undefined;
  /** Output options, combined from `output`, `fields` and `jq`. */
  shape: Shape;
  /** Source of each setting, for `config ls --show-origin`. */
  origins: Origins;
};

/** The part of the config file that settings are read from. */
type Profiles = {
  current?: string;
  profiles: Record<string, { workspace?: string; settings?: Record<string, string> }>;
};

/** Resolves all settings. @throws MediactlError exit 2 if a value is invalid */
export function resolveSettings(
  flags: GivenFlags,
  environment: Environment,
  cwd: string,
  { current, profiles }: Profiles,
): Settings {
  const origins = new Origins(flags, environment, findProjectFile(cwd));
  const { value: asked, rank } = origins.of('profile');
  // Key and base URL are a complete account: a profile named by the project file need not exist here.
  const isWhole = Boolean(origins.of('api_key').value && origins.of('base_url').value);
  const profile = isWhole && rank === ranks.project ? undefined : asked;
  const profileInUse = profile ?? (isWhole ? undefined : current);
  const kept = profileInUse === undefined ? undefined : profiles[profileInUse];
  if (profileInUse !== undefined && kept)
    origins.useProfile(profileInUse, { workspace: kept.workspace, ...kept.settings });
  const values = Object.fromEntries(
    settingNames.map((name) => [propertyOf(name), read(name, origins.of(name).value)]),
  );
  const shape = shapeOf(origins);
  return { ...(values as unknown as Values), profile, profileInUse, shape, origins };
}

function propertyOf(name: SettingName): string {
  const camel = name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  return camel + table[name].kind.suffix;
}

const read = (name: SettingName, value: string | undefined) => {
  const { kind, fallback }: Setting = table[name];
  // `--request-timeout=`, from an empty shell variable, counts as unset.
  const isEmpty = value === '' && kind !== text && fallback === undefined;
  return value === undefined || isEmpty ? kind.unset : kind.read(spokenName(name), value);
};

/** Maps parsed options to settings. @param given typed options by Commander's attribute names, without defaults */
export function givenFlags(given: Record<string, unknown>): GivenFlags {
  const flags: GivenFlags = {};
  for (const name of settingNames) {
    const [typed, other] = flagsOf(name)
      .map(longOf)
      .filter((long) => isTyped(long, given));
    if (typed && other) throw exclusive(typed, other);
    if (!typed) continue;
    const value = given[attributeOf(typed)];
    const flag = flagsOf(name).find((each) => longOf(each) === typed);
    flags[name] = typeof value === 'string' ? value : (flag?.gives ?? '1');
  }
  return flags;
}

/** Returns true if an option was typed. `--no-input` sets `input` to false; `api --input FILE` shares that attribute. */
const isTyped = (long: string, given: Record<string, unknown>) =>
  long.startsWith('--no-') ? given[attributeOf(long)] === false : attributeOf(long) in given;

/** Returns Commander's attribute name of an option: `input` for `--no-input`. */
const attributeOf = (long: string) =>
  long.replace(/^--(no-)?/, '').replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

const exclusive = (one: string, other: string) =>
  usageError(`${one} and ${other} cannot be used together`, 'give one of them');

function shapeOf(origins: Origins): Shape {
  const [output, filter] = [origins.of('output'), origins.of('jq')];
  let format = table.output.kind.read(spokenName('output'), output.value as string);
  let jq = filter.value;
  // jq needs JSON. Two conflicting flags are an error; otherwise the source with higher precedence wins.
  if (jq !== undefined && format !== 'human' && !format.startsWith('json')) {
    if (output.rank === filter.rank && output.rank === ranks.flag)
      throw exclusive('--jq', `--${format}`);
    if (filter.rank >= output.rank) format = 'json';
    else jq = undefined;
  }
  const fields = origins.of('fields').value;
  const paths = fields?.split(',').map((path) => path.trim());
  if (paths?.includes('')) throw usageError(`--fields does not accept '${fields}'`, 'name,status');
  return { format, fields: paths, jq };
}
