import { usageError } from '../../client/errors.ts';
import type { OutputOptions } from './output-options.ts';
import type { ProfileConfig } from './profile-file.ts';
import { text } from './setting-kinds.ts';
import {
  type Environment,
  findProjectFile,
  type ProjectSearch,
  precedence,
  SettingResolver,
} from './setting-resolver.ts';
import {
  displayName,
  flagsOf,
  longOf,
  type RawSettings,
  type Setting,
  type SettingName,
  settingNames,
  settingTable,
} from './setting-table.ts';
import { withKeyOfFile } from './variables.ts';

type SettingTable = typeof settingTable;

/** Converts snake case to camel case, such as `max_wait` to `maxWait`. */
export type CamelCase<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name;

type SettingKinds = { [Name in SettingName]: SettingTable[Name]['kind'] };
type SettingValue<Name extends SettingName> =
  | ReturnType<SettingKinds[Name]['parse']>
  | (SettingTable[Name] extends { fallback: string } ? never : SettingKinds[Name]['unsetValue']);

/** Values of all settings. Each setting is a property; for example, the duration `max_wait` is `maxWaitMs`. */
type SettingValues = {
  readonly [Name in SettingName as `${CamelCase<Name>}${SettingKinds[Name]['suffix']}`]: SettingValue<Name>;
};

/** The profile in use, which suggested commands name if it is not the current one. `auth login` needs it in any case. */
export type SuggestionProfile = { profile: string; isCurrent: boolean };

/** Effective settings, resolved from flags, variables, project file, profile and defaults. */
export type Settings = SettingValues & {
  /** The requested profile, else the current one; undefined if key and base URL are set without a profile. */
  profileInUse: string | undefined;
  /** Names the profile in commands that are suggested. */
  suggestion: SuggestionProfile | undefined;
  /** Base URL of the service that the key of MEDIACTL_API_KEY belongs to; undefined if only an option names a service. */
  apiKeyBaseUrl: string | undefined;
  /** Output options, combined from `format`, `fields` and `jq`. */
  outputOptions: OutputOptions;
  /** Resolver that returns the source of each setting, as for `config ls`. */
  resolver: SettingResolver;
};

/** @throws CodedError (exit 2) if a value is invalid */
export function resolveSettings(
  flags: RawSettings,
  variables: Environment,
  project: ProjectSearch,
  { current, profiles }: ProfileConfig,
): Settings {
  const environment = withKeyOfFile(variables);
  const resolver = new SettingResolver(
    flags,
    environment,
    environment.MEDIACTL_PROJECT_FILE === 'none' ? undefined : findProjectFile(project),
  );
  const { value: requested, rank } = resolver.resolve('profile');
  // Key and base URL make a complete account, so a profile named by the project file need not exist.
  const isCompleteAccount = Boolean(resolver.resolve('api_key').value && resolver.resolve('base_url').value);
  const profile = isCompleteAccount && rank === precedence.project ? undefined : requested;
  const profileInUse = profile ?? (isCompleteAccount ? undefined : current);
  const storedProfile = profileInUse === undefined ? undefined : profiles[profileInUse];
  if (profileInUse !== undefined && storedProfile)
    resolver.useProfile(profileInUse, { workspace: storedProfile.workspace, ...storedProfile.settings });
  const values = settingNames.map((name) => [
    camelCase(name) + settingTable[name].kind.suffix,
    parseValue(name, resolver.resolve(name).value),
  ]);
  const known = profile ?? current;
  const apiKeyBaseUrl =
    environment[settingTable.base_url.variable] || (known === undefined ? undefined : profiles[known]?.baseUrl);
  const outputOptions = resolveOutputOptions(resolver);
  const resolved = Object.fromEntries(values) as SettingValues;
  const suggestion =
    profileInUse === undefined ? undefined : { profile: profileInUse, isCurrent: profileInUse === current };
  return { ...resolved, profile, profileInUse, suggestion, apiKeyBaseUrl, outputOptions, resolver };
}

const camelCase = (words: string) => words.replace(/[_-](\w)/g, (_, letter: string) => letter.toUpperCase());

const parseValue = (name: SettingName, value: string | undefined) => {
  const { kind, fallback }: Setting = settingTable[name];
  // An empty value, such as `--request-timeout=` with an empty shell variable, counts as unset.
  const isEmpty = value === '' && kind !== text && fallback === undefined;
  return value === undefined || isEmpty ? kind.unsetValue : kind.parse(displayName(name), value);
};

/**
 * Converts parsed options to unparsed settings.
 *
 * @param options options that the user entered, by Commander's attribute names, without defaults
 */
export function collectFlags(options: Record<string, unknown>): RawSettings {
  const flags: RawSettings = {};
  for (const name of settingNames) {
    const [typed, other] = flagsOf(name).filter((flag) => isTyped(longOf(flag), options));
    if (typed && other) throw conflictError(longOf(typed), longOf(other));
    if (!typed) continue;
    const value = options[attributeOf(longOf(typed))];
    flags[name] = typeof value === 'string' ? value : (typed.impliedValue ?? '1');
  }
  return flags;
}

/**
 * Returns true if the user entered an option. `--no-input` sets the attribute `input` to false, while `api --input
 * FILE` sets the same attribute to a path.
 */
const isTyped = (long: string, flags: Record<string, unknown>) =>
  long.startsWith('--no-') ? flags[attributeOf(long)] === false : attributeOf(long) in flags;

/** Returns Commander's attribute name for an option, such as `input` for `--no-input`. */
const attributeOf = (long: string) => camelCase(long.replace(/^--(no-)?/, ''));

const conflictError = (one: string, other: string) =>
  usageError(`${one} and ${other} cannot be used together`, 'use one of them');

function resolveOutputOptions(resolver: SettingResolver): OutputOptions {
  const [requested, filter] = [resolver.resolve('format'), resolver.resolve('jq')];
  let format = settingTable.format.kind.parse(displayName('format'), requested.value as string);
  let jq = filter.value;
  // jq needs JSON. Conflicting flags are an error; otherwise, the source with the higher precedence wins.
  if (jq !== undefined && format !== 'table' && !format.startsWith('json')) {
    if (requested.rank === filter.rank && requested.rank === precedence.flag)
      throw conflictError('--jq', `--${format}`);
    if (filter.rank >= requested.rank) format = 'json';
    else jq = undefined;
  }
  const fields = resolver.resolve('fields').value;
  const paths = fields?.split(',').map((path) => path.trim());
  if (paths?.includes('')) throw usageError(`--fields does not accept '${fields}'`, 'use a list such as name,status');
  return { format, fields: paths, jq };
}
