import type { Command } from '@commander-js/extra-typings';
import { example, type Run } from '../command.ts';
import { planned } from '../planned.ts';
import { readSettings, settingsRecord } from './settings.ts';

/** `enable` and `disable` are one request with the other value. */
export function restrict(command: Command, run: Run, enabled: boolean): void {
  const verb = enabled ? 'enable' : 'disable';
  example(command, `mediactl embed ${verb}`);
  command
    .summary(enabled ? 'let only the allow-list embed' : 'let every domain embed')
    .description(
      enabled
        ? 'Restricts embedding in the workspace to the domains of its allow-list.'
        : 'Lifts the restriction: every domain may embed. The allow-list stays as it is.',
    )
    .action(
      run(async (context) => {
        const { workspace, embeds, settings } = await readSettings(context);
        if (context.settings.dryRun)
          return planned(context, [embeds.restricting(workspace, settings, enabled)]);
        const after = await embeds.restrict(workspace, settings, enabled);
        if (enabled && after.domains.length === 0)
          context.terminal.warn('the allow-list is empty: nobody may embed');
        return settingsRecord(workspace, after);
      }),
    );
}
