import type { Command } from '@commander-js/extra-typings';
import { totalOf } from '../../api/pages.ts';
import { exitCodes, MediactlError } from '../../errors.ts';
import { parseCount } from '../../profiles/units.ts';
import { list as listOf } from '../../terminal/result.ts';
import type { Collection } from '../../wire/paths.ts';
import { example, type Run } from '../command.ts';
import { assetColumns } from './columns.ts';
import { dateHelp, filtersOf, refuseWorkspace, sortHelp, withFilters } from './filters.ts';

export function list(command: Command, run: Run, collection: Collection): void {
  example(
    command,
    `mediactl ${collection} ls --status ready --created-after 7d`,
    `mediactl ${collection} ls --search intro --sort name --limit 5`,
    `mediactl ${collection} ls --all --jsonl`,
  );
  const described = command
    .alias('list')
    .summary(`list ${collection}`)
    .description(`Lists ${collection}, the newest first. ${dateHelp}`);
  withFilters(described, collection)
    .option('--tag <slug>', 'tag')
    .option('--sort <field>', sortHelp)
    .option('--limit <number>', 'how many at most', '20')
    .option('--all', 'all there are')
    .option('--offset <number>', 'how many to leave out at the beginning', '0')
    .option('--count', 'print how many there are')
    .action(
      run(async (context, options) => {
        refuseWorkspace(context, `${collection} ls`);
        const filters = await filtersOf(context, options);
        const api = await context.api();
        if (options.count) {
          const page = await api[collection].page(filters, 1, 0);
          const total = totalOf(page, (await context.account()).names);
          if (total === undefined) throw noTotal();
          return { kind: 'raw', text: String(total) } as const;
        }
        const window = {
          limit: options.all ? undefined : parseCount('--limit', options.limit, 1),
          offset: parseCount('--offset', options.offset),
        };
        return listOf(api[collection].list(filters, window), assetColumns, `no ${collection}`);
      }),
    );
}

const noTotal = () =>
  new MediactlError('the service does not tell how many there are', {
    code: 'no_total',
    exitCode: exitCodes.unclassified,
    reason: 'its pages carry no total under a name that is known (A01)',
    hint: 'count them: mediactl assets ls --all -q | wc -l',
  });
