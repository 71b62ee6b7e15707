import type { Command } from '@commander-js/extra-typings';
import { type ActionWrapper, addExamples, type CommandDefinition } from '../command.ts';
import { dryRunPlan } from '../dry-run.ts';
import { add, list, remove, sync } from './domains.ts';
import { readSettings, settingsRecord } from './settings.ts';

export const embed: CommandDefinition = (noun, run) => {
  show(noun.command('show'), run);
  restrict(noun.command('enable'), run, true);
  restrict(noun.command('disable'), run, false);
  const domains = noun
    .command('domains')
    .summary('the domains that may embed')
    .description('The allow-list of domains that may embed, kept per workspace.')
    .helpCommand(false);
  list(domains.command('ls'), run);
  add(domains.command('add'), run);
  remove(domains.command('rm'), run);
  sync(domains.command('sync'), run);
};

function show(command: Command, run: ActionWrapper): void {
  addExamples(command, 'mediactl embed show', 'mediactl embed show --json');
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

/** Defines the `enable` or the `disable` command, which turn the domain restriction on (`enabled`) or off. */
function restrict(command: Command, run: ActionWrapper, enabled: boolean): void {
  const verb = enabled ? 'enable' : 'disable';
  addExamples(command, `mediactl embed ${verb}`);
  command
    .summary(enabled ? 'allow only the listed domains to embed' : 'allow every domain to embed')
    .description(
      enabled
        ? 'Restricts embedding in the workspace to the domains of its allow-list.'
        : 'Lifts the restriction: every domain may embed. The allow-list stays as it is.',
    )
    .action(
      run(async (context) => {
        const { workspace, embeds, settings } = await readSettings(context);
        if (context.settings.dryRun) return dryRunPlan(context, [embeds.restrictRequest(workspace, settings, enabled)]);
        const after = await embeds.restrict(workspace, settings, enabled);
        if (enabled && after.hasList && after.domains.length === 0)
          context.terminal.warn('the allow-list is empty: no site may embed');
        return settingsRecord(workspace, after);
      }),
    );
}
