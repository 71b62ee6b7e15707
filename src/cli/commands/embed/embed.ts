import type { Command } from '@commander-js/extra-typings';
import type { WorkspaceEmbedSettings } from '../../../client/api/embed-settings.ts';
import { displayText, escapeControls } from '../../../contract/sanitize.ts';
import type { Context } from '../../context.ts';
import { type DetailRow, type Result, record } from '../../output/result.ts';
import { type ActionWrapper, addExamples, type CommandDefinition, type Define, verb } from '../command.ts';
import { dryRunPlan } from '../dry-run.ts';
import { readSettings } from './settings.ts';

export const embed: CommandDefinition = [
  verb('show', 'show whether embedding is restricted, and to which domains', async () => show, 'get'),
  verb('enable', 'allow only the listed domains to embed', async () => (command, run) => restrict(command, run, true)),
  verb('disable', 'allow every domain to embed', async () => (command, run) => restrict(command, run, false)),
  verb('domains', 'the domains that may embed', async () => (await import('./domains.ts')).domains),
];

const show: Define = (command, run) => {
  addExamples(command, 'mediactl embed show', 'mediactl embed show --json');
  command.description('Shows the embed restriction of the workspace and its allow-list of domains.').action(
    run(async (context) => {
      const { workspace, settings } = await readSettings(context);
      return settingsRecord(workspace, settings);
    }),
  );
};

/** Defines the `enable` or the `disable` command, which turn the domain restriction on (`enabled`) or off. */
function restrict(command: Command, run: ActionWrapper, enabled: boolean): void {
  addExamples(command, `mediactl embed ${enabled ? 'enable' : 'disable'}`);
  command
    .description(
      enabled
        ? 'Restricts embedding in the workspace to the domains of its allow-list.'
        : 'Lifts the restriction: every domain may embed. The allow-list stays as it is.',
    )
    .action(run((context) => runRestrict(context, enabled)));
}

async function runRestrict(context: Context, enabled: boolean): Promise<Result> {
  const { workspace, embeds, settings } = await readSettings(context);
  if (context.settings.dryRun) return dryRunPlan(context, [embeds.restrictRequest(workspace, settings, enabled)]);
  const after = await embeds.restrict(workspace, settings, enabled);
  if (enabled && after.hasList && after.domains.length === 0)
    context.terminal.warn('the allow-list is empty: no site may embed');
  return settingsRecord(workspace, after);
}

/** Returns embed settings as a record: as the service sent them, or as sentences on a terminal. */
const settingsRecord = (workspace: string, settings: WorkspaceEmbedSettings): Result =>
  record(settings.record, workspace, (): DetailRow[] => {
    const unknown = 'unknown: mediactl embed domains ls says why';
    const domains = settings.hasList ? settings.spellings : [unknown];
    return [
      ['workspace', escapeControls(workspace)],
      ['restriction', settings.enabled ? 'on: only the domains below may embed' : 'off: every domain may embed'],
      ...(domains.length === 0 ? ['none'] : domains).map(
        (domain, at): DetailRow => [at === 0 ? 'domains' : ' ', displayText(domain)],
      ),
    ];
  });
