import { Argument } from '@commander-js/extra-typings';
import { CodedError, usageError } from '../../../client/errors.ts';
import { escapeControls } from '../../../shared/sanitize.ts';
import { noSuchProfile } from '../../account/account.ts';
import { addExamples, type CommandDefinition, type Define, verb, withSuggestions } from '../../command.ts';
import type { Context } from '../../context.ts';
import { listBy, noResult, type Result, text } from '../../output/result.ts';
import type { Profile, ProfileConfig } from '../../settings/profile-file.ts';
import { choose, confirm } from '../../terminal/prompt.ts';
import { maskSecret } from '../../terminal/redactor.ts';
import { profileColumns, profileRecords, profileResult } from './columns.ts';

export const auth: CommandDefinition = [
  verb('login', 'log in with an API key, or replace it', async () => (await import('./login.ts')).login),
  verb('ls', 'list the profiles', async () => list, 'list'),
  verb('status', 'check the account in use', async () => (await import('./status.ts')).status),
  verb('switch', 'switch to another profile', async () => switchProfile),
  verb('logout', 'remove a profile and its key', async () => logout),
  verb('token', 'print the API key in use', async () => token),
];

const profileArgument = (description: string) => withSuggestions(new Argument('[name]', description), 'profiles');

const list: Define = (command, run) =>
  addExamples(command, 'mediactl auth ls')
    .description('Lists the profiles on this machine. An asterisk marks the current one.')
    .action(
      run(async ({ profiles }) =>
        profileList(await profiles.read(), 'no profiles yet: run mediactl auth login, or mediactl sandbox start'),
      ),
    );

const profileList = (config: ProfileConfig, empty: string) =>
  listBy(({ name }) => name, profileRecords(config), profileColumns, empty);

const switchProfile: Define = (command, run) =>
  addExamples(command, 'mediactl auth switch production')
    .description('Makes another profile the current one.')
    .addArgument(profileArgument('profile to switch to'))
    .action(run(runSwitch));

async function runSwitch(context: Context, given: string | undefined): Promise<Result> {
  const config = await context.profiles.read();
  const { profiles } = config;
  const name = given ?? (await promptForProfile(context, config));
  if (!profiles[name]) throw noSuchProfile(name, profiles);
  if (context.isDryRun(`make profile ${name} current`)) return noResult;
  const updated = await context.profiles.update((current) => {
    current.current = name;
  });
  return profileResult(updated, name);
}

/** @throws CodedError `usage` (exit 2) if there is no terminal or no profile */
async function promptForProfile({ terminal }: Context, config: ProfileConfig): Promise<string> {
  const names = Object.keys(config.profiles);
  if (!terminal.isInteractive || names.length === 0)
    throw usageError('no profile given', 'mediactl auth switch NAME; mediactl auth ls, to list them');
  const rows = profileRecords(config).map(({ name, current, base_url, workspace_name }) => [
    ...[escapeControls(name), escapeControls(base_url), escapeControls(workspace_name ?? '')],
    current ? 'current' : '',
  ]);
  return choose(terminal, 'Which profile?', names, rows);
}

const logout: Define = (command, run) =>
  addExamples(command, 'mediactl auth logout staging', 'mediactl auth logout --all --yes')
    .description(
      'Removes a profile and its key from this machine. The key stays valid until you revoke it in the organization’s settings.',
    )
    .addArgument(profileArgument('profile; defaults to the current one'))
    .option('--all', 'remove all profiles')
    .action(run((context, name, { all }) => runLogout(context, name, all)));

async function runLogout(context: Context, name: string | undefined, all = false): Promise<Result> {
  const { profiles, settings, terminal } = context;
  const before = await profiles.read();
  const one = name ?? settings.profile ?? before.current;
  const namesToForget = all ? Object.keys(before.profiles) : one ? [one] : [];
  if (namesToForget.length === 0)
    throw new CodedError('no profile to log out from', { code: 'not_logged_in', hint: 'mediactl auth ls' });
  for (const each of namesToForget) if (!before.profiles[each]) throw noSuchProfile(each, before.profiles);
  if (context.isDryRun(`remove ${namesToForget.join(', ')}`)) return noResult;
  if (all)
    await confirm(
      context,
      `Remove ${namesToForget.length} profiles and their keys?`,
      'mediactl auth logout --all --yes',
    );
  for (const each of namesToForget) {
    const profile = before.profiles[each] as Profile;
    if (profile.keyStore === 'keychain') await context.keychain.delete(each);
  }
  const config = await profiles.update((current) => {
    for (const each of namesToForget) delete current.profiles[each];
    if (current.current && !current.profiles[current.current]) delete current.current;
  });
  const isUnused = config.current === undefined && Object.keys(config.profiles).length > 0;
  const next = isUnused ? '; no profile is current now: run mediactl auth switch NAME' : '';
  terminal.info(`removed: ${namesToForget.join(', ')}${next}`);
  return profileList(config, 'no profiles');
}

const token: Define = (command, run) =>
  addExamples(command, 'mediactl auth token --show-token')
    .description(
      'Prints the API key of the account in use. Requires --show-token, so that the key is not printed by accident.',
    )
    .option('--show-token', 'print the whole key')
    .action(
      run(async (context, { showToken }) => {
        const { apiKey } = await context.account();
        if (showToken) return text(apiKey);
        const problem = `printing the whole key (${maskSecret(apiKey)}) requires --show-token`;
        throw usageError(problem, 'mediactl auth token --show-token');
      }),
    );
