import type { Command } from '@commander-js/extra-typings';
import { usageError } from '../../../client/errors.ts';
import { type NameKey, nameKeys } from '../../../contract/assumptions.ts';
import { displayText, escapeControls } from '../../../contract/sanitize.ts';
import type { Profile } from '../../account/profile-file.ts';
import type { Context } from '../../context.ts';
import { resolveWorkspace, toProfileFields } from '../../library/workspaces.ts';
import { type Column, listBy, noResult, text } from '../../output/result.ts';
import { queueAddress } from '../../settings/setting-kinds.ts';
import { profileSettings, type SettingName, settingTable } from '../../settings/setting-table.ts';
import { readInputText } from '../../terminal/input.ts';
import { type ActionWrapper, addExamples, type CommandDefinition } from '../command.ts';
import { assertNoPassword } from '../queue/queue.ts';
import { assumedOrigin, type ConfigRow, findSetting, listSettings, withoutSecrets } from './setting-rows.ts';

export const config: CommandDefinition = (noun, run) => {
  list(noun.command('ls'), run);
  get(noun.command('get'), run);
  set(noun.command('set'), run);
  unset(noun.command('unset'), run);
  path(noun.command('path'), run);
};

function list(command: Command, run: ActionWrapper): void {
  addExamples(command, 'mediactl config ls', 'mediactl config ls --show-origin');
  command
    .alias('list')
    .summary('list the settings in effect')
    .description(
      'Lists the settings and their values. A flag comes before a MEDIACTL_ variable, then .mediactl.json, then the profile, then the default.',
    )
    .option('--show-origin', 'tell which flag, variable or file each came from')
    .option('--all', 'on a terminal too: field names that were not set')
    .action(
      run(async (context, { showOrigin, all }) => {
        const columns: Column<ConfigRow>[] = [
          { header: 'KEY', value: ({ key }) => key },
          { header: 'VALUE', value: ({ value }) => displayText(value) },
        ];
        if (showOrigin) columns.push({ header: 'ORIGIN', value: ({ origin }) => displayText(origin) });
        const every = await listSettings(context);
        const shown = all || !context.isHumanOutput ? every : every.filter(({ origin }) => origin !== assumedOrigin);
        return listBy(({ key }) => key, shown, columns, 'no settings');
      }),
    );
}

function get(command: Command, run: ActionWrapper): void {
  addExamples(command, 'mediactl config get workspace');
  command
    .summary('print one setting')
    .description('Prints the value of one setting as it is in effect; nothing where it is not set.')
    .argument('<key>', 'as config ls names it')
    .action(run(async (context, key) => text((await findSetting(context, key)).value ?? '')));
}

function path(command: Command, run: ActionWrapper): void {
  addExamples(command, 'mediactl config path');
  command
    .summary('print where the config file is')
    .description('Prints the path of the config file, which holds the profiles.')
    .action(run(async ({ profiles }) => text(profiles.path)));
}

function set(command: Command, run: ActionWrapper): void {
  addExamples(
    command,
    'mediactl config set output json',
    'mediactl config set names.folder_parent parent_id',
    'mediactl config set queue - < queue-address.txt',
  );
  command
    .summary('keep a setting in the profile')
    .description(
      'Keeps a setting in the profile in use. names.KEY tells what a service calls a field that its specification does not show; mediactl help assumptions lists the keys.',
    )
    .argument('<key>', [...profileSettings, 'names.KEY'].join(', '))
    .argument('<value>', 'its value; - reads it from stdin')
    .action(
      run(async (context, key, given) => {
        const isRead = given === '-';
        const value = isRead ? (await readInputText(context.terminal, '-')).trim() : given;
        if (!isRead && key === 'queue') assertNoPassword('config set', queueAddress.parse(key, value));
        const change = await parseChange(context, key, value);
        const setting = profileSettings.find((each) => each === key);
        const shown = escapeControls(setting ? withoutSecrets(setting, value) : value);
        if (context.isDryRun(`set ${key} to ${shown}`)) return noResult;
        await updateProfile(context, change);
        return noResult;
      }),
    );
}

function unset(command: Command, run: ActionWrapper): void {
  addExamples(command, 'mediactl config unset output');
  command
    .summary('remove a setting from the profile')
    .description('Removes a setting from the profile in use, so that the default applies.')
    .argument('<key>', [...profileSettings, 'names.KEY'].join(', '))
    .action(
      run(async (context, key) => {
        const change = removalFor(key);
        if (context.isDryRun(`unset ${key}`)) return noResult;
        await updateProfile(context, change);
        return noResult;
      }),
    );
}

type ProfileChange = (profile: Profile) => void;

/**
 * Validates a value and returns the change that saves it, because an invalid value would break every later command.
 */
async function parseChange(context: Context, key: string, value: string): Promise<ProfileChange> {
  const name = parseNameKey(key);
  if (name !== undefined) {
    const field = name === 'embed_enabled' ? value.replace(/^!/, '') : value;
    if (!/^[A-Za-z_][\w-]*$/.test(field)) throw usageError(`'${value}' is not the name of a field`);
    return (profile) => {
      profile.names = { ...profile.names, [name]: value };
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

function removalFor(key: string): ProfileChange {
  const name = parseNameKey(key);
  if (name !== undefined) return (profile) => delete profile.names?.[name];
  const setting = parseProfileSetting(key);
  return (profile) =>
    setting === 'workspace'
      ? delete profile.workspace && delete profile.workspaceName
      : delete profile.settings?.[setting];
}

function parseNameKey(key: string): NameKey | undefined {
  if (!key.startsWith('names.')) return undefined;
  const name = nameKeys.find((each) => key === `names.${each}`);
  if (name) return name;
  throw usageError(`no setting is called ${key}`, nameKeys.map((each) => `names.${each}`).join(', '));
}

function parseProfileSetting(key: string): SettingName {
  const setting = profileSettings.find((each) => each === key);
  if (setting) return setting;
  if (key === 'base_url' || key === 'api_key')
    throw usageError(
      `${key} is not set by itself`,
      'mediactl auth login --profile NAME --base-url URL',
      'a key goes to the service that it was given for, and nowhere else',
    );
  throw usageError(`no setting of a profile is called ${key}`, [...profileSettings, 'names.KEY'].join(', '));
}

async function updateProfile(context: Context, change: ProfileChange): Promise<void> {
  const { name } = await context.profileInUse();
  await context.profiles.update(({ profiles }) => {
    const profile = name === undefined ? undefined : profiles[name];
    if (!profile) throw usageError('there is no profile to keep it in', 'mediactl auth login, or set a variable');
    change(profile);
  });
}
