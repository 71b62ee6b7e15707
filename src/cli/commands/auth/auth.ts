import { Argument, type Command } from '@commander-js/extra-typings';
import { MediactlError, usageError } from '../../../client/errors.ts';
import { escapeControls } from '../../../contract/sanitize.ts';
import { noSuchProfile } from '../../account/account-errors.ts';
import { parseBaseUrl } from '../../account/base-url.ts';
import { deleteFromKeychain, readApiKey, storeInKeychain } from '../../account/keychain.ts';
import { assertProfileName, type Profile, type ProfileConfig } from '../../account/profile-file.ts';
import type { Context } from '../../context.ts';
import { listBy, noResult, text } from '../../output/result.ts';
import { choose, confirm } from '../../terminal/prompt.ts';
import { maskSecret } from '../../terminal/redactor.ts';
import { type ActionWrapper, addExamples, type CommandDefinition, withSuggestions } from '../command.ts';
import { profileColumns, profileRecords, profileResult } from './columns.ts';
import { login } from './login.ts';
import { status } from './status.ts';

export const auth: CommandDefinition = (noun, run) => {
  login(noun.command('login'), run);
  list(noun.command('ls'), run);
  status(noun.command('status'), run);
  switchProfile(noun.command('switch'), run);
  rename(noun.command('rename'), run);
  logout(noun.command('logout'), run);
  token(noun.command('token'), run);
};

function list(command: Command, run: ActionWrapper): void {
  addExamples(command, 'mediactl auth ls');
  command
    .alias('list')
    .summary('list the profiles')
    .description('Lists the profiles of this machine; the current one has a star.')
    .action(
      run(async ({ profiles }) =>
        listBy(
          ({ name }) => name,
          profileRecords(await profiles.read()),
          profileColumns,
          'no profiles yet: mediactl auth login, or mediactl sandbox start',
        ),
      ),
    );
}

function switchProfile(command: Command, run: ActionWrapper): void {
  addExamples(command, 'mediactl auth switch production');
  command
    .summary('make another profile current')
    .description('Makes another profile the current one.')
    .addArgument(withSuggestions(new Argument('[name]', 'profile to act as from now on'), 'profiles'))
    .action(
      run(async (context, given) => {
        const config = await context.profiles.read();
        const { profiles } = config;
        const name = given ?? (await promptForProfile(context, config));
        if (!profiles[name]) throw noSuchProfile(name, profiles);
        if (context.isDryRun(`make profile ${name} current`)) return noResult;
        const updated = await context.profiles.update((current) => {
          current.current = name;
        });
        return profileResult(updated, name);
      }),
    );
}

/**
 * Asks which profile to use.
 *
 * @throws MediactlError `usage` (exit 2) if there is no terminal or no profile
 */
async function promptForProfile({ terminal }: Context, config: ProfileConfig): Promise<string> {
  const names = Object.keys(config.profiles);
  if (!terminal.isInteractive || names.length === 0)
    throw usageError('which profile?', 'mediactl auth switch NAME; mediactl auth ls lists them');
  const rows = profileRecords(config).map(({ name, current, base_url, workspace_name }) => [
    ...[escapeControls(name), escapeControls(base_url), escapeControls(workspace_name ?? '')],
    current ? 'current' : '',
  ]);
  return choose(terminal, 'Which profile?', names, rows);
}

function rename(command: Command, run: ActionWrapper): void {
  addExamples(command, 'mediactl auth rename default production');
  command
    .summary('rename a profile')
    .description('Renames a profile; its key moves with it.')
    .addArgument(withSuggestions(new Argument('<old>', 'profile'), 'profiles'))
    .argument('<new>', 'its new name')
    .action(
      run(async (context, from, to) => {
        const { profiles } = context;
        assertProfileName(to);
        const before = await profiles.read();
        const profile = before.profiles[from];
        if (!profile) throw noSuchProfile(from, before.profiles);
        if (before.profiles[to]) throw usageError(`there is a profile ${to} already`, 'mediactl auth ls');
        if (context.isDryRun(`rename profile ${from} to ${to}`)) return noResult;
        const inKeychain = profile.keyStore === 'keychain';
        const key = await readApiKey(profile, { configDir: profiles.directory, profile: from });
        const moved = inKeychain && (await storeInKeychain({ configDir: profiles.directory, profile: to }, key));
        const config = await profiles.update((current) => {
          delete current.profiles[from];
          current.profiles[to] = moved || !inKeychain ? profile : { ...profile, keyStore: 'file', key };
          if (current.current === from) current.current = to;
        });
        if (inKeychain) await deleteFromKeychain({ configDir: profiles.directory, profile: from });
        for (const each of [from, to]) await forgetScopes(context, each, profile);
        return profileResult(config, to);
      }),
    );
}

/** Deletes the cached scopes of a profile's key. */
const forgetScopes = (context: Context, name: string, { baseUrl }: Profile) =>
  context.scopesOf(name, parseBaseUrl(baseUrl)).clear();

function logout(command: Command, run: ActionWrapper): void {
  addExamples(command, 'mediactl auth logout staging', 'mediactl auth logout --all --yes');
  command
    .summary('forget a profile and its key')
    .description(
      'Forgets a profile and its key on this machine. The key itself stays valid: revoke it in the organization’s settings.',
    )
    .addArgument(withSuggestions(new Argument('[name]', 'profile; the current one if left out'), 'profiles'))
    .option('--all', 'forget every profile')
    .action(
      run(async (context, name, { all }) => {
        const { profiles, settings, terminal } = context;
        const before = await profiles.read();
        const one = name ?? settings.profile ?? before.current;
        const namesToForget = all ? Object.keys(before.profiles) : one ? [one] : [];
        if (namesToForget.length === 0)
          throw new MediactlError('no profile to log out from', {
            code: 'no_profile',
            hint: 'mediactl auth ls',
          });
        for (const each of namesToForget) if (!before.profiles[each]) throw noSuchProfile(each, before.profiles);
        if (context.isDryRun(`forget ${namesToForget.join(', ')}`)) return noResult;
        if (all)
          await confirm(terminal, `Forget ${namesToForget.length} profiles and their keys?`, {
            yes: settings.yes,
            instead: 'mediactl auth logout --all --yes',
          });
        for (const each of namesToForget)
          if (before.profiles[each]?.keyStore === 'keychain')
            await deleteFromKeychain({ configDir: profiles.directory, profile: each });
        for (const each of namesToForget) await forgetScopes(context, each, before.profiles[each] as Profile);
        const config = await profiles.update((current) => {
          for (const each of namesToForget) delete current.profiles[each];
          if (current.current && !current.profiles[current.current]) delete current.current;
        });
        const isUnused = config.current === undefined && Object.keys(config.profiles).length > 0;
        const next = isUnused ? '; none is in use now: mediactl auth switch NAME' : '';
        terminal.info(`forgotten: ${namesToForget.join(', ')}${next}`);
        return listBy(({ name: id }) => id, profileRecords(config), profileColumns, 'no profiles left');
      }),
    );
}

function token(command: Command, run: ActionWrapper): void {
  addExamples(command, 'mediactl auth token --reveal');
  command
    .summary('print the API key in use')
    .description('Prints the API key of the account in use; only --reveal prints all of it.')
    .option('--reveal', 'print the whole key')
    .action(
      run(async (context, { reveal }) => {
        const { apiKey } = await context.account();
        if (!reveal)
          throw usageError(
            `the key is ${maskSecret(apiKey)}; it is not printed by accident`,
            'mediactl auth token --reveal',
          );
        return text(apiKey);
      }),
    );
}
