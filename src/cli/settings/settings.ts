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

/** `max_wait` as `maxWait`. */
type Camel<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<Camel<Rest>>}`
  : Name;

type Kinds = { [Name in SettingName]: Table[Name]['kind'] };
type Value<Name extends SettingName> =
  | ReturnType<Kinds[Name]['read']>
  | (Table[Name] extends { fallback: string } ? never : Kinds[Name]['unset']);

/** A property for each row of the table: `max_wait`, a duration, is `maxWaitMs`. */
type Values = {
  readonly [Name in SettingName as `${Camel<Name>}${Kinds[Name]['suffix']}`]: Value<Name>;
};

/** What flags, variables, the project file and the profile come to. */
export type Settings = Values & {
  /** The profile asked for, else the current one; undefined where key and base URL are given without it. */
  profileInUse: string | undefined;
  /** What `output`, `fields` and `jq` come to together. */
  shape: Shape;
  /** Which source each came from, for `config ls --show-origin`. */
  origins: Origins;
};

/** Of the config file, what settings are read from. */
type Profiles = {
  current?: string;
  profiles: Record<string, { workspace?: string; settings?: Record<string, string> }>;
};

/** @throws MediactlError exit 2 where a value is not one that the setting takes */
export function resolveSettings(
  flags: GivenFlags,
  environment: Environment,
  cwd: string,
  { current, profiles }: Profiles,
): Settings {
  const origins = new Origins(flags, environment, findProjectFile(cwd));
  const { value: asked, rank } = origins.of('profile');
  // Key and base URL are a whole account: what a repository calls its profile need not be here.
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
  // `--request-timeout=`, of an unset variable, says nothing.
  const isEmpty = value === '' && kind !== text && fallback === undefined;
  return value === undefined || isEmpty ? kind.unset : kind.read(spokenName(name), value);
};

/** Parsed options by their setting. @param given by Commander's names, those alone that were typed */
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

/** `--no-input` makes false of `input`, which a command may have a value for too (`api --input FILE`). */
const isTyped = (long: string, given: Record<string, unknown>) =>
  long.startsWith('--no-') ? given[attributeOf(long)] === false : attributeOf(long) in given;

/** What Commander calls an option: `--no-input` is `input`. */
const attributeOf = (long: string) =>
  long.replace(/^--(no-)?/, '').replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

const exclusive = (one: string, other: string) =>
  usageError(`${one} and ${other} cannot be used together`, 'give one of them');

function shapeOf(origins: Origins): Shape {
  const [output, filter] = [origins.of('output'), origins.of('jq')];
  let format = table.output.kind.read(spokenName('output'), output.value as string);
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
  if (paths?.includes('')) throw usageError(`--fields does not accept '${fields}'`, 'name,status');
  return { format, fields: paths, jq };
}
