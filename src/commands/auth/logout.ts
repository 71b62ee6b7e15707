import type { Command } from '@commander-js/extra-typings';
import { exitCodes, MediactlError } from '../../errors.ts';
import { noSuchProfile } from '../../profiles/account-errors.ts';
import { forgetInKeychain } from '../../profiles/key-stores.ts';
import { confirm } from '../../terminal/prompt.ts';
import { listBy, nothing } from '../../terminal/result.ts';
import { example, type Run } from '../command.ts';
import { profileColumns, profileRecords } from './columns.ts';

export function logout(command: Command, run: Run): void {
  example(command, 'mediactl auth logout staging', 'mediactl auth logout --all --yes');
  command
    .summary('forget a profile and its key')
    .description(
      'Forgets a profile and its key on this machine. The key itself stays valid: revoke it in the organization’s settings.',
    )
    .argument('[name]', 'profile; the current one if left out')
    .option('--all', 'forget every profile')
    .action(
      run(async (context, name, { all }) => {
        const { profiles, configDir, settings, terminal } = context;
        const before = await profiles.read();
        const one = name ?? settings.profile ?? before.current;
        const leaving = all ? Object.keys(before.profiles) : one ? [one] : [];
        if (leaving.length === 0)
          throw new MediactlError('no profile to log out from', {
            code: 'no_profile',
            exitCode: exitCodes.unauthenticated,
            hint: 'mediactl auth ls',
          });
        for (const each of leaving)
          if (!before.profiles[each]) throw noSuchProfile(each, before.profiles);
        if (context.onlyPretends(`forget ${leaving.join(', ')}`)) return nothing;
        if (all)
          await confirm(terminal, `Forget ${leaving.length} profiles and their keys?`, {
            yes: settings.yes,
            instead: 'mediactl auth logout --all --yes',
          });
        for (const each of leaving)
          if (before.profiles[each]?.keyStore === 'keychain')
            await forgetInKeychain({ configDir, profile: each });
        const config = await profiles.update((current) => {
          for (const each of leaving) delete current.profiles[each];
          if (current.current && !current.profiles[current.current]) delete current.current;
        });
        terminal.say(`forgotten: ${leaving.join(', ')}`);
        return listBy(
          ({ name: id }) => id,
          profileRecords(config),
          profileColumns,
          'no profiles left',
        );
      }),
    );
}
