import type { Command } from '@commander-js/extra-typings';
import type { WorkspaceEmbedSettings } from '../../../client/api/embed-settings.ts';
import {
  changeDomains,
  type DomainChanges,
  domainMethods,
  restrictEmbedding,
} from '../../../client/changes/embed-changes.ts';
import { asCodedError, combineFailures, usageError } from '../../../client/errors.ts';
import { parseDomain } from '../../../client/library/embed-domains.ts';
import { pluralize } from '../../../shared/figures.ts';
import { displayText, escapeControls, quoteForShell } from '../../../shared/sanitize.ts';
import {
  type ActionWrapper,
  addExamples,
  type CommandDefinition,
  type CommandOutcome,
  type Define,
  verb,
} from '../../command.ts';
import type { Context } from '../../context.ts';
import { resolveWorkspaceUid } from '../../library/workspaces.ts';
import { announce, withoutRecords } from '../../output/outcome.ts';
import { type Column, type DetailRow, listBy, type Result, record } from '../../output/result.ts';
import type { OutputRecord } from '../../reference/schemas.ts';
import { readInputText } from '../../terminal/input.ts';
import { confirm } from '../../terminal/prompt.ts';
import { dryRunPlan } from '../dry-run.ts';

export const embed: CommandDefinition = [
  verb('show', 'show the embed restriction and its domains', async () => show, 'get'),
  verb(
    'restrict',
    'restrict embedding to the allowed domains',
    async () => (command, run) => restrict(command, run, true),
  ),
  verb('unrestrict', 'allow every domain to embed', async () => (command, run) => restrict(command, run, false)),
  verb('domains', 'manage the domains that may embed', async () => domains),
];

const show: Define = (command, run) =>
  addExamples(command, 'mediactl embed show', 'mediactl embed show --json')
    .description('Shows whether embedding is restricted in the workspace, and the allow-list of domains.')
    .action(run(async (context) => settingsRecord(await readSettings(context))));

function restrict(command: Command, run: ActionWrapper, enabled: boolean): void {
  addExamples(command, `mediactl embed ${enabled ? 'restrict' : 'unrestrict'}`)
    .description(
      enabled
        ? 'Restricts embedding in the workspace to the domains on its allow-list.'
        : 'Removes the restriction, so that every domain may embed. Keeps the allow-list.',
    )
    .action(run((context) => runRestrict(context, { enabled })));
}

export async function runRestrict(context: Context, { enabled }: { enabled: boolean }): Promise<CommandOutcome> {
  const { workspace, embeds, settings } = await readSettings(context);
  if (context.settings.dryRun) return dryRunPlan(context, [embeds.restrictRequest(workspace, settings, enabled)]);
  const after = await restrictEmbedding(await context.api(), workspace, settings, enabled);
  context.changesMade.add('setting', 'changed', 1);
  if (enabled && after.hasList && after.domains.length === 0)
    context.terminal.warn('the allow-list is empty: no site may embed');
  const list = after.hasList ? `the ${pluralize(after.domains.length, 'domain')} on` : 'the domains on';
  const isChanged = settings.enabled !== enabled;
  announce(
    context,
    enabled ? `embedding is restricted to ${list} the allow-list` : 'every domain may embed',
    isChanged ? `to undo: mediactl embed ${enabled ? 'unrestrict' : 'restrict'}` : undefined,
  );
  return withoutRecords(context, { result: settingsRecord({ workspace, settings: after }) });
}

const settingsRecord = ({ workspace, settings }: Pick<WorkspaceEmbeds, 'workspace' | 'settings'>): Result =>
  record(settings.record, workspace, (): DetailRow[] => {
    const domains = settings.hasList ? settings.spellings : ['unknown: run mediactl embed domains ls, to see why'];
    return [
      ['workspace', escapeControls(workspace)],
      ['restriction', settings.enabled ? 'on: only the domains below may embed' : 'off: every domain may embed'],
      ...(domains.length === 0 ? ['none'] : domains).map(
        (domain, at): DetailRow => [at === 0 ? 'domains' : ' ', displayText(domain)],
      ),
    ];
  });

async function readSettings(context: Context) {
  const workspace = await resolveWorkspaceUid(context);
  const { embeds } = await context.api();
  return { workspace, embeds, settings: await embeds.settings(workspace) };
}

type WorkspaceEmbeds = Awaited<ReturnType<typeof readSettings>>;

const domains: Define = (noun, run) => {
  noun.description('Manages the allow-list of domains that may embed, one per workspace.').helpCommand(false);
  list(noun.command('ls').alias('list').summary('list the domains that may embed'), run);
  add(noun.command('add').summary('allow domains to embed'), run);
  remove(noun.command('rm').alias('delete').summary('remove domains from the allow-list'), run);
  sync(noun.command('sync').summary('make the allow-list match a file'), run);
};

const list: Define = (command, run) =>
  addExamples(command, 'mediactl embed domains ls', 'mediactl embed domains ls > domains.txt')
    .description('Lists the domains on the allow-list of the workspace, one per line.')
    .action(run(runList));

async function runList(context: Context): Promise<Result> {
  const { settings } = await readSettings(context);
  const records = settings.spellings.map((domain) => ({ domain }));
  return listBy(({ domain }) => domain, records, [domainColumn], 'no domains');
}

const add: Define = (command, run) =>
  addExamples(command, 'mediactl embed domains add news.example.com www.example.com')
    .description('Adds domains to the allow-list of the workspace. Ignores domains that are already on it.')
    .argument('<domain...>', 'host names')
    .action(
      run(async (context, typed) => {
        const added = [...new Set(typed.map((domain) => parseDomain(domain)))];
        return runChanges(context, await readSettings(context), { added, removed: [] });
      }),
    );

const remove: Define = (command, run) =>
  addExamples(command, 'mediactl embed domains rm old.example.com')
    .description('Removes domains from the allow-list of the workspace.')
    .argument('<domain...>', 'host names')
    .action(
      run(async (context, typed) => {
        const read = await readSettings(context);
        const removed = [...new Set(typed.map((text) => parseDomain(text, read.settings)))];
        return runChanges(context, read, { added: [], removed });
      }),
    );

const sync: Define = (command, run) =>
  addExamples(
    command,
    'mediactl embed domains sync domains.txt --dry-run',
    'mediactl embed domains sync domains.txt --prune --yes',
  )
    .description(
      'Adds the domains in a file to the allow-list of the workspace. With --prune, also removes the domains that are not in the file. One domain per line; # starts a comment.',
    )
    .argument('<file>', 'file with one domain per line; - for stdin')
    .option('--prune', 'remove domains that are not in the file')
    .action(run((context, file, { prune }) => runSync(context, { file, prune })));

async function runSync(context: Context, { file, prune }: { file: string; prune?: true | undefined }) {
  const { terminal } = context;
  const text = await readInputText(terminal, file);
  const read = await readSettings(context);
  const desired = parseDomains(text, file === '-' ? 'stdin' : file, read.settings);
  if (prune && desired.length === 0)
    throw usageError(
      `${file} contains no domains`,
      'mediactl embed unrestrict, to remove the restriction; or mediactl embed domains rm DOMAIN, to remove single domains',
      '--prune would remove every domain',
    );
  const current = read.settings.domains;
  const added = desired.filter((domain) => !current.includes(domain));
  const extra = current.filter((domain) => !desired.includes(domain));
  const there = current.length - extra.length;
  terminal.info(
    `${added.length} to add, ${there} already allowed, ${extra.length} ${prune ? 'to remove' : 'not in the file'}`,
  );
  if (prune && extra.length > 0 && !context.settings.dryRun) await confirm(context, `Remove ${extra.join(', ')}?`);
  return runChanges(context, read, { added, removed: prune ? extra : [] });
}

type DomainRecord = OutputRecord<'embed-domains'>;

async function runChanges(context: Context, { workspace, embeds, settings }: WorkspaceEmbeds, changes: DomainChanges) {
  if (context.settings.dryRun) {
    const requests = (['added', 'removed'] as const).flatMap((change) =>
      changes[change].map((domain) => embeds.domainRequest(domainMethods[change], workspace, settings, domain)),
    );
    return dryRunPlan(context, requests);
  }
  const { outcomes, respelled, unverified } = await changeDomains(
    await context.api(),
    { workspace, settings },
    changes,
  );
  const { terminal, changesMade } = context;
  for (const { change, error } of outcomes) changesMade.add('domain', change, error || unverified ? 0 : 1, 1);
  const records = outcomes.map(
    ({ domain, change, error }): DomainRecord => ({
      domain,
      outcome: error ? 'failed' : change,
      error: terminal.redactor.errorRecord(error),
    }),
  );
  const failed = outcomes.flatMap(({ domain, error }) => (error ? [error.withSubject(domain)] : []));
  for (const { domain, spelling } of respelled) terminal.info(`${domain} is listed as ${escapeControls(spelling)}`);
  if (records.some(({ outcome }) => outcome === 'added') && settings.isOff)
    terminal.info('the restriction is off, so every site may embed; to turn it on: mediactl embed restrict');
  const count = failed.length;
  const problem = count > 0 ? `${count} of ${outcomes.length} changes failed` : 'cannot confirm the changes';
  const outcome = {
    result: listBy(({ domain }) => domain, records, columns, 'nothing to change'),
    failure: combineFailures(outcomes.length, problem, [...failed, ...(unverified ? [unverified] : [])]),
  };
  if (unverified || failed.length === records.length) return outcome;
  announceDomains(context, records);
  return withoutRecords(context, outcome);
}

/** Maximum number of domains that the command to undo a change names. */
const maxUndone = 5;

function announceDomains(context: Context, records: readonly DomainRecord[]): void {
  const of = (outcome: DomainRecord['outcome']) =>
    records.filter((each) => each.outcome === outcome).map(({ domain }) => domain);
  const [added, removed] = [of('added'), of('removed')];
  const name = (domains: readonly string[]) =>
    domains.length === 1 ? displayText(domains[0]) : pluralize(domains.length, 'domain');
  const done = [
    ...(added.length > 0 ? [`added ${name(added)} to the allow-list`] : []),
    ...(removed.length > 0 ? [`removed ${name(removed)} from the allow-list`] : []),
  ];
  const undo = [
    ...(added.length > 0 ? [`mediactl embed domains rm ${added.map(quoteForShell).join(' ')}`] : []),
    ...(removed.length > 0 ? [`mediactl embed domains add ${removed.map(quoteForShell).join(' ')}`] : []),
  ];
  const isShort = added.length + removed.length <= maxUndone && undo.length === 1;
  announce(context, done.join(' and '), isShort ? `to undo: ${undo[0]}` : undefined);
}

const domainColumn: Column<{ domain: string }> = { field: 'domain', noTruncate: true };

const columns: Column<DomainRecord>[] = [
  { header: ' ', value: ({ outcome }) => ({ added: '+', removed: '-', failed: '!' })[outcome] },
  domainColumn,
  {
    field: 'outcome',
    value: ({ outcome, error }) => (error ? `failed: ${escapeControls(error.message)}` : outcome),
  },
];

/** Parses domains, one a line, with # comments. @throws CodedError `usage` (exit 2) with the line number */
function parseDomains(text: string, path: string, known: WorkspaceEmbedSettings): string[] {
  const domains = text.split(/\r?\n/).flatMap((line, at) => {
    const word = line.replace(/#.*$/, '').trim();
    if (word === '') return [];
    try {
      return [parseDomain(word, known)];
    } catch (error) {
      const { message, explanation } = asCodedError(error);
      throw usageError(`${path}, line ${at + 1}: ${message}`, explanation.hint);
    }
  });
  return [...new Set(domains)];
}
