import type { Command } from '@commander-js/extra-typings';
import { noSuchProfile } from '../../profiles/account-errors.ts';
import { nothing, record } from '../../terminal/result.ts';
import { example, type Run } from '../command.ts';
import { profileRecords, profileRows } from './columns.ts';

export function switchProfile(command: Command, run: Run): void {
  example(command, 'mediactl auth switch production');
  command
    .summary('make another profile current')
    .description('Makes another profile the current one.')
    .argument('<name>', 'profile to act as from now on')
    .action(
      run(async (context, name) => {
        const { profiles } = await context.profiles.read();
        if (!profiles[name]) throw noSuchProfile(name, profiles);
        if (context.onlyPretends(`make profile ${name} current`)) return nothing;
        const config = await context.profiles.update((current) => {
          current.current = name;
        });
        const [chosen] = profileRecords(config).filter(({ current }) => current);
        return record(chosen as NonNullable<typeof chosen>, name, profileRows);
      }),
    );
}
