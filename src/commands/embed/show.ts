import type { Command } from '@commander-js/extra-typings';
import { example, type Run } from '../command.ts';
import { readSettings, settingsRecord } from './settings.ts';

export function show(command: Command, run: Run): void {
  example(command, 'mediactl embed show', 'mediactl embed show --json');
  command
    .alias('get')
    .summary('show whether embedding is restricted, and to which domains')
    .description('Shows the embed restriction of the workspace and its allow-list of domains.')
    .action(
      run(async (context) => {
        const { workspace, settings } = await readSettings(context);
        return settingsRecord(workspace, settings);
      }),
    );
}
