import type { Command } from '@commander-js/extra-typings';
import { usageError } from '../../errors.ts';
import { printable } from '../../terminal/printable.ts';
import { confirm } from '../../terminal/prompt.ts';
import { listBy } from '../../terminal/result.ts';
import { example, type Run } from '../command.ts';
import { readInputText } from '../input.ts';
import { changeDomains } from './change-domains.ts';
import { domainsIn, parseDomain } from './domain.ts';
import { readSettings } from './settings.ts';

export function list(command: Command, run: Run): void {
  example(command, 'mediactl embed domains ls', 'mediactl embed domains ls > domains.txt');
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
          [{ header: 'DOMAIN', value: ({ domain }) => printable(domain), whole: true }],
          'no domains',
        );
      }),
    );
}

export function add(command: Command, run: Run): void {
  example(command, 'mediactl embed domains add news.example.com www.example.com');
  command
    .summary('let domains embed')
    .description('Puts domains on the allow-list of the workspace. One that is there is fine.')
    .argument('<domain...>', 'host names')
    .action(
      run(async (context, domains) => {
        const wanted = [...new Set(domains.map((domain) => parseDomain(domain)))];
        return changeDomains(context, await readSettings(context), { add: wanted, remove: [] });
      }),
    );
}

export function remove(command: Command, run: Run): void {
  example(command, 'mediactl embed domains rm old.example.com');
  command
    .alias('delete')
    .summary('take domains off the allow-list')
    .description('Takes domains off the allow-list of the workspace.')
    .argument('<domain...>', 'host names')
    .action(
      run(async (context, domains) => {
        const read = await readSettings(context);
        const unwanted = [...new Set(domains.map((text) => parseDomain(text, read.settings)))];
        return changeDomains(context, read, { add: [], remove: unwanted });
      }),
    );
}

export function sync(command: Command, run: Run): void {
  example(
    command,
    'mediactl embed domains sync -f domains.txt --dry-run',
    'mediactl embed domains sync -f domains.txt --prune --yes',
  );
  command
    .summary('make the allow-list what a file says')
    .description(
      'Adds the domains of a file that the allow-list lacks, then, with --prune, removes those that the file does not name. One domain a line; # begins a comment.',
    )
    .requiredOption('-f, --file <file>', 'the domains, one a line; - for stdin')
    .option('--prune', 'remove domains that the file does not name')
    .action(
      run(async (context, { file, prune }) => {
        const text = await readInputText(context, file);
        const read = await readSettings(context);
        const wanted = domainsIn(text, file === '-' ? 'stdin' : file, read.settings);
        if (prune && wanted.length === 0)
          throw usageError(
            `${file} names no domain`,
            'mediactl embed disable lifts the restriction; domains rm takes off single ones',
            'with --prune the whole allow-list would go',
          );
        const there = read.settings.domains;
        const missing = wanted.filter((domain) => !there.includes(domain));
        const extra = there.filter((domain) => !wanted.includes(domain));
        context.terminal.say(
          `${missing.length} to add, ${there.length - extra.length} there already, ${extra.length} ${prune ? 'to remove' : 'not in the file'}`,
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
