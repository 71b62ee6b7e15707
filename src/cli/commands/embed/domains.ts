import type { Command } from '@commander-js/extra-typings';
import type { DomainMethod } from '../../../client/api/embeds.ts';
import {
  asMediactlError,
  type ErrorRecord,
  MediactlError,
  partialFailure,
  usageError,
} from '../../../client/errors.ts';
import { escapeControls } from '../../../contract/sanitize.ts';
import type { Context } from '../../context.ts';
import { type Column, listBy } from '../../output/result.ts';
import { readInputText } from '../../terminal/input.ts';
import { confirm } from '../../terminal/prompt.ts';
import { type ActionWrapper, addExamples } from '../command.ts';
import { dryRunPlan } from '../dry-run.ts';
import { parseDomain, parseDomains } from './domain.ts';
import { readSettings } from './settings.ts';

export function list(command: Command, run: ActionWrapper): void {
  addExamples(command, 'mediactl embed domains ls', 'mediactl embed domains ls > domains.txt');
  command
    .alias('list')
    .summary('list the domains that may embed')
    .description('Lists the allow-list of the workspace, one domain a line.')
    .action(
      run(async (context) => {
        const { settings } = await readSettings(context);
        return listBy(
          ({ domain }) => domain,
          settings.spellings.map((domain) => ({ domain })),
          [{ header: 'DOMAIN', value: ({ domain }) => escapeControls(domain), noTruncate: true }],
          'no domains',
        );
      }),
    );
}

export function add(command: Command, run: ActionWrapper): void {
  addExamples(command, 'mediactl embed domains add news.example.com www.example.com');
  command
    .summary('allow domains to embed')
    .description('Adds domains to the allow-list of the workspace. One that is already there is not an error.')
    .argument('<domain...>', 'host names')
    .action(
      run(async (context, domains) => {
        const domainsToAdd = [...new Set(domains.map((domain) => parseDomain(domain)))];
        return changeDomains(context, await readSettings(context), {
          add: domainsToAdd,
          remove: [],
        });
      }),
    );
}

export function remove(command: Command, run: ActionWrapper): void {
  addExamples(command, 'mediactl embed domains rm old.example.com');
  command
    .alias('delete')
    .summary('remove domains from the allow-list')
    .description('Removes domains from the allow-list of the workspace.')
    .argument('<domain...>', 'host names')
    .action(
      run(async (context, domains) => {
        const read = await readSettings(context);
        const domainsToRemove = [...new Set(domains.map((text) => parseDomain(text, read.settings)))];
        return changeDomains(context, read, { add: [], remove: domainsToRemove });
      }),
    );
}

export function sync(command: Command, run: ActionWrapper): void {
  addExamples(
    command,
    'mediactl embed domains sync -f domains.txt --dry-run',
    'mediactl embed domains sync -f domains.txt --prune --yes',
  );
  command
    .summary('make the allow-list match a file')
    .description(
      'Adds the domains of a file that the allow-list does not have, then, with --prune, removes those that are not in the file. One domain a line; # begins a comment.',
    )
    .requiredOption('-f, --file <file>', 'the domains, one a line; - for stdin')
    .option('--prune', 'remove domains that are not in the file')
    .action(
      run(async (context, { file, prune }) => {
        const text = await readInputText(context.terminal, file);
        const read = await readSettings(context);
        const desired = parseDomains(text, file === '-' ? 'stdin' : file, read.settings);
        if (prune && desired.length === 0)
          throw usageError(
            `${file} has no domain in it`,
            'mediactl embed disable lifts the restriction; domains rm takes off single ones',
            'with --prune the whole allow-list would go',
          );
        const current = read.settings.domains;
        const missing = desired.filter((domain) => !current.includes(domain));
        const extra = current.filter((domain) => !desired.includes(domain));
        context.terminal.info(
          `${missing.length} to add, ${current.length - extra.length} there already, ${extra.length} ${prune ? 'to remove' : 'not in the file'}`,
        );
        if (prune && extra.length > 0 && !context.settings.dryRun)
          await confirm(context.terminal, `Remove ${extra.join(', ')}?`, {
            yes: context.settings.yes,
            instead: 'the same command with --yes',
          });
        return changeDomains(context, read, { add: missing, remove: prune ? extra : [] });
      }),
    );
}

/** Domains to add to the allow-list and to remove from it. */
type DomainChanges = { add: string[]; remove: string[] };

/**
 * Adds domains before it removes any, so that no domain that stays is ever missing. Prints a result for each
 * domain, and reads the list again to verify the changes.
 */
async function changeDomains(
  context: Context,
  { workspace, embeds, settings }: Awaited<ReturnType<typeof readSettings>>,
  { add, remove }: DomainChanges,
) {
  const steps: { method: DomainMethod; domain: string }[] = [
    ...add.map((domain) => ({ method: 'POST' as const, domain })),
    ...remove.map((domain) => ({ method: 'DELETE' as const, domain })),
  ];
  if (context.settings.dryRun)
    return dryRunPlan(
      context,
      steps.map(({ method, domain }) => embeds.domainRequest(method, workspace, settings, domain)),
    );
  const records: DomainRecord[] = [];
  const failures: MediactlError[] = [];
  const failed = (domain: string, error: MediactlError) => {
    failures.push(error.withSubject(domain));
    records.push({ domain, change: null, error: error.toJSON() });
  };
  for (const { method, domain } of steps) {
    // After a failed addition nothing is removed, because a site could lose its access.
    if (method === 'DELETE' && add.length > 0 && failures.length > 0) {
      failed(domain, notRemoved());
      continue;
    }
    await embeds.changeDomain(method, workspace, settings, domain).then(
      () => records.push({ domain, change: method === 'POST' ? 'added' : 'removed', error: null }),
      (thrown) => failed(domain, asMediactlError(thrown)),
    );
  }
  const domainsWith = (change: DomainRecord['change']) =>
    records.filter((each) => each.change === change).map(({ domain }) => domain);
  const verificationError = await embeds
    .verifyDomains(workspace, settings, domainsWith('added'), domainsWith('removed'))
    .then((respelled) => {
      for (const { domain, spelling } of respelled)
        context.terminal.info(`${domain} is on the allow-list as ${escapeControls(spelling)}`);
      return undefined;
    }, asMediactlError);
  if (domainsWith('added').length > 0 && settings.isOff)
    context.terminal.info('the restriction is off, and every site may embed: mediactl embed enable');
  const result = domainResult(records, 'nothing to change');
  if (steps.length <= 1) return { result, failure: failures[0] ?? verificationError };
  const all = verificationError ? [...failures, verificationError] : failures;
  const problem =
    failures.length > 0 ? `${failures.length} of ${steps.length} changes failed` : 'the changes could not be confirmed';
  return { result, failure: all.length > 0 ? partialFailure(problem, all) : undefined };
}

const notRemoved = () =>
  new MediactlError('not removed', {
    code: 'not_tried',
    reason: 'what was to be added before it could not be',
  });

/** Result for one domain of `add`, `rm`, or `sync`. `change` is null if the change failed. */
type DomainRecord = {
  domain: string;
  change: 'added' | 'removed' | null;
  error: ErrorRecord | null;
};

const sign = { added: '+', removed: '-' };

const columns: Column<DomainRecord>[] = [
  { header: ' ', value: ({ change }) => (change ? sign[change] : '!') },
  { header: 'DOMAIN', value: ({ domain }) => escapeControls(domain), noTruncate: true },
  {
    header: 'RESULT',
    value: ({ change, error }) => (error ? `failed: ${escapeControls(error.message)}` : (change ?? '')),
  },
];

const domainResult = (records: readonly DomainRecord[], empty: string) =>
  listBy(({ domain }) => domain, records, columns, empty);
