import type { Command } from '@commander-js/extra-typings';
import { listBy } from '../../terminal/result.ts';
import { example, type Run } from '../command.ts';
import { profileColumns, profileRecords } from './columns.ts';

export function list(command: Command, run: Run): void {
  example(command, 'mediactl auth ls');
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
