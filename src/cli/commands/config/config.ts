import { Argument } from '@commander-js/extra-typings';
import { usageError } from '../../../client/errors.ts';
import { fieldNamesFor, type NameKey, nameKeys } from '../../../contract/assumptions.ts';
import { escapeControls } from '../../../shared/sanitize.ts';
import { addExamples, type CommandDefinition, type Define, verb, withSuggestions } from '../../command.ts';
import type { Context } from '../../context.ts';
import { resolveWorkspace, toProfileFields } from '../../library/workspaces.ts';
import { type Column, listBy, noResult, type Result, text } from '../../output/result.ts';
import type { Profile } from '../../settings/profile-file.ts';
import { assertNoPassword, parseFieldName, queueAddress } from '../../settings/setting-kinds.ts';
import {
  profileSettings,
  type Setting,
  type SettingName,
  settingNames,
  settingTable,
} from '../../settings/setting-table.ts';
import { readInputText } from '../../terminal/input.ts';
import { maskSecret } from '../../terminal/redactor.ts';

export const config: CommandDefinition = [
  verb('ls', 'list the settings and their values', async () => list, 'list'),
  verb('get', 'print one setting', async () => get),
  verb('set', 'save a setting in the profile', async () => set),
  verb('unset', 'remove a setting from the profile', async () => unset),
  verb('path', 'print the path of the config file', async () => path),
];

const list: Define = (command, run) =>
  addExamples(command, 'mediactl config ls')
    .description(
      'Lists the settings, their values, and the option, variable or file that sets each. Order of precedence: flag, MEDIACTL_ variable, .mediactl.json, profile, default.',
    )
    .option('--all', 'include field names at their defaults, hidden on a terminal')
    .action(run(runList));

async function runList(context: Context, { all }: { all?: true | undefined }): Promise<Result> {
  const columns: Column<ConfigRow>[] = [{ field: 'key' }, { field: 'value' }, { field: 'origin' }];
  const every = await listSettings(context);
  const shown =
    all || !context.isHumanOutput
      ? every
      : every.filter(({ key, origin }) => origin !== defaultOrigin || !key.startsWith('field_names.'));
  return listBy(({ key }) => key, shown, columns, 'no settings');
}

type ConfigRow = { key: string; value: string | null; origin: string };

/** Origin of a value that is not configured. */
const defaultOrigin = 'default';

/** Returns every setting with its value and origin. Keys and other secrets are masked. */
async function listSettings(context: Context): Promise<ConfigRow[]> {
  const { name, profile } = await context.profileInUse();
  const profileOrigin = `profile ${name}`;
  const settings = settingNames.map((key): ConfigRow => {
    const { value, origin } = context.settings.resolver.resolve(key);
    if (key === 'api_key') {
      if (value !== undefined) return { key, value: maskSecret(value), origin };
      const where = profile?.keyStore === 'keychain' ? '(in the keychain)' : '(in the config file)';
      return { key, value: profile ? where : null, origin: profile ? profileOrigin : '' };
    }
    if (value === undefined && key === 'base_url' && profile)
      return { key, value: profile.baseUrl, origin: profileOrigin };
    if (value === undefined && key === 'profile' && name !== undefined)
      return { key, value: name, origin: 'current profile' };
    return { key, value: value === undefined ? null : withoutSecrets(key, value), origin };
  });
  const names = nameKeys.map((name): ConfigRow => {
    const [key, value] = [`field_names.${name}`, profile?.names?.[name]];
    if (value !== undefined) return { key, value, origin: profileOrigin };
    return { key, value: fieldNamesFor(name).join(', '), origin: defaultOrigin };
  });
  return [...settings, ...names];
}

/** Returns a setting's value with its secrets, such as a password in a URL, redacted. */
const withoutSecrets = (key: SettingName, value: string) =>
  (settingTable[key] as Setting).kind.redact?.(value) ?? value;

/** The name of a setting, as it is typed. */
const keyArgument = (description: string, names: readonly SettingName[]) =>
  withSuggestions(new Argument('<key>', description), names);

const get: Define = (command, run) =>
  addExamples(command, 'mediactl config get workspace')
    .description('Prints the value of one setting; empty if it is not set.')
    .addArgument(keyArgument('name of the setting, as listed by config ls', settingNames))
    .action(run(runGet));

async function runGet(context: Context, key: string): Promise<Result> {
  const found = (await listSettings(context)).find((setting) => setting.key === key);
  if (!found) throw usageError(`setting ${key} does not exist`, 'mediactl config ls');
  return text(found.value ?? '');
}

const path: Define = (command, run) =>
  addExamples(command, 'mediactl config path')
    .description('Prints the path of the config file, which contains the profiles.')
    .action(run(async ({ profiles }) => text(profiles.path)));

const keyHelp = [...profileSettings, 'field_names.KEY'].join(', ');

const set: Define = (command, run) =>
  addExamples(
    command,
    'mediactl config set format json',
    'mediactl config set field_names.folder_parent parent_id',
    'mediactl config set queue - < queue-url.txt',
  )
    .description(
      'Saves a setting in the profile in use. field_names.KEY sets the name of a field that the API specification does not define; the keys are in mediactl help assumptions.',
    )
    .addArgument(keyArgument(keyHelp, profileSettings))
    .argument('<value>', 'new value; - to read it from stdin')
    .action(run(runSet));

async function runSet(context: Context, key: string, given: string): Promise<Result> {
  const isRead = given === '-';
  const value = isRead ? (await readInputText(context.terminal, '-')).trim() : given;
  if (!isRead && key === 'queue') assertNoPassword('config set', queueAddress.parse(key, value));
  const change = await parseChange(context, key, value);
  const setting = profileSettings.find((each) => each === key);
  const shown = escapeControls(setting ? withoutSecrets(setting, value) : value);
  if (!context.isDryRun(`set ${key} to ${shown}`)) await updateProfile(context, change);
  return noResult;
}

const unset: Define = (command, run) =>
  addExamples(command, 'mediactl config unset format')
    .description('Removes a setting from the profile in use, so that its default applies.')
    .addArgument(keyArgument(keyHelp, profileSettings))
    .action(run(runUnset));

async function runUnset(context: Context, key: string): Promise<Result> {
  const name = parseNameKey(key);
  const setting = name ?? parseProfileSetting(key);
  if (context.isDryRun(`unset ${key}`)) return noResult;
  await updateProfile(context, (profile) => {
    if (name !== undefined) delete profile.names?.[name];
    else if (setting === 'workspace')
      for (const field of ['workspace', 'workspaceName', 'workspaceIsPrimary'] as const) delete profile[field];
    else delete profile.settings?.[setting];
  });
  return noResult;
}

type ProfileChange = (profile: Profile) => void;

/** Validates a value and returns the change that saves it, because an invalid value would break every later command. */
async function parseChange(context: Context, key: string, value: string): Promise<ProfileChange> {
  const name = parseNameKey(key);
  if (name !== undefined) {
    const field = parseFieldName(name, value);
    return (profile) => {
      profile.names = { ...profile.names, [name]: field };
    };
  }
  const setting = parseProfileSetting(key);
  if (setting === 'workspace') {
    const workspace = await resolveWorkspace(context, await context.api(), value);
    return (profile) => void Object.assign(profile, toProfileFields(workspace));
  }
  settingTable[setting].kind.parse(key, value);
  return (profile) => {
    profile.settings = { ...profile.settings, [setting]: value };
  };
}

function parseNameKey(key: string): NameKey | undefined {
  if (!key.startsWith('field_names.')) return undefined;
  const name = nameKeys.find((each) => key === `field_names.${each}`);
  if (name) return name;
  throw usageError(`setting ${key} does not exist`, nameKeys.map((each) => `field_names.${each}`).join(', '));
}

/** Maps settings that were removed to their replacements. */
const replacedSettings: Readonly<Record<string, string>> = {
  color: 'NO_COLOR=1 or FORCE_COLOR=1 in the environment',
  history: 'leave it out: changes are always recorded',
};

function parseProfileSetting(key: string): SettingName {
  const setting = profileSettings.find((each) => each === key);
  if (setting) return setting;
  if (key === 'base_url' || key === 'api_key')
    throw usageError(
      `config set cannot change ${key}`,
      'mediactl auth login --profile NAME --base-url URL',
      'an API key and its base URL are saved together',
    );
  const instead = Object.hasOwn(replacedSettings, key) ? replacedSettings[key] : keyHelp;
  throw usageError(`a profile cannot contain setting ${key}`, instead);
}

async function updateProfile(context: Context, change: ProfileChange): Promise<void> {
  const { name } = await context.profileInUse();
  await context.profiles.update(({ profiles }) => {
    const profile = name === undefined ? undefined : profiles[name];
    if (!profile)
      throw usageError('no profile to save the setting in', 'mediactl auth login, or set a MEDIACTL_ variable');
    change(profile);
  });
}
