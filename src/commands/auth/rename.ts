import type { Command } from '@commander-js/extra-typings';
import { usageError } from '../../errors.ts';
import { noSuchProfile } from '../../profiles/account-errors.ts';
import { forgetInKeychain, keyOf, storeInKeychain } from '../../profiles/key-stores.ts';
import { assertProfileName } from '../../profiles/profile-file.ts';
import { nothing, record } from '../../terminal/result.ts';
import { example, type Run } from '../command.ts';
import { profileRecords, profileRows } from './columns.ts';

export function rename(command: Command, run: Run): void {
  example(command, 'mediactl auth rename default production');
  command
    .summary('rename a profile')
    .description('Renames a profile; its key moves with it.')
    .argument('<old>', 'profile')
    .argument('<new>', 'its new name')
    .action(
      run(async (context, from, to) => {
        const { profiles, configDir } = context;
        assertProfileName(to);
        const before = await profiles.read();
        const profile = before.profiles[from];
        if (!profile) throw noSuchProfile(from, before.profiles);
        if (before.profiles[to])
          throw usageError(`there is a profile ${to} already`, 'mediactl auth ls');
        if (context.onlyPretends(`rename profile ${from} to ${to}`)) return nothing;
        const inKeychain = profile.keyStore === 'keychain';
        const key = await keyOf(profile, { configDir, profile: from });
        const moved = inKeychain && (await storeInKeychain({ configDir, profile: to }, key));
        const config = await profiles.update((current) => {
          delete current.profiles[from];
          current.profiles[to] =
            moved || !inKeychain ? profile : { ...profile, keyStore: 'file', key };
          if (current.current === from) current.current = to;
        });
        if (inKeychain) await forgetInKeychain({ configDir, profile: from });
        const renamed = profileRecords(config).find(({ name }) => name === to);
        return record(renamed as NonNullable<typeof renamed>, to, profileRows);
      }),
    );
}
