import type { Command } from '@commander-js/extra-typings';
import { usageError } from '../../errors.ts';
import { example, type Run } from '../command.ts';
import { changed } from './change.ts';
import { folderHelp } from './resolve.ts';

export function rename(command: Command, run: Run): void {
  example(command, 'mediactl folders rename /Campaigns/2026 "Spring 2026"');
  command
    .summary('give a folder another name')
    .description('Gives a folder another name; it stays where it is.')
    .argument('<folder>', folderHelp)
    .argument('<name>', 'new name')
    .action(
      run(async (context, folder, name) => {
        if (name.includes('/'))
          throw usageError('a folder name has no slash', 'mediactl folders mv moves it');
        return changed(context, folder, () => ({ name }));
      }),
    );
}
