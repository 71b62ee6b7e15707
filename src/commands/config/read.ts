import type { Command } from '@commander-js/extra-typings';
import { cell } from '../../terminal/printable.ts';
import { type Column, listBy, text } from '../../terminal/result.ts';
import { example, type Run } from '../command.ts';
import { everySetting, type Setting, settingOf } from './settings.ts';

export function list(command: Command, run: Run): void {
  example(command, 'mediactl config ls', 'mediactl config ls --show-origin');
  command
    .alias('list')
    .summary('list the settings in effect')
    .description(
      'Lists every setting and its value. A flag comes before a MEDIACTL_ variable, then .mediactl.json, then the profile, then the default.',
    )
    .option('--show-origin', 'tell which flag, variable or file each came from')
    .action(
      run(async (context, { showOrigin }) => {
        const columns: Column<Setting>[] = [
          { header: 'KEY', value: ({ key }) => key },
          { header: 'VALUE', value: ({ value }) => cell(value) },
        ];
        if (showOrigin) columns.push({ header: 'ORIGIN', value: ({ origin }) => cell(origin) });
        return listBy(({ key }) => key, await everySetting(context), columns, 'no settings');
      }),
    );
}

export function get(command: Command, run: Run): void {
  example(command, 'mediactl config get workspace');
  command
    .summary('print one setting')
    .description('Prints the value of one setting as it is in effect; nothing where it is not set.')
    .argument('<key>', 'as config ls names it')
    .action(run(async (context, key) => text((await settingOf(context, key)).value ?? '')));
}

export function path(command: Command, run: Run): void {
  example(command, 'mediactl config path');
  command
    .summary('print where the config file is')
    .description('Prints the path of the config file, which holds the profiles.')
    .action(run(async ({ profiles }) => text(profiles.path)));
}
