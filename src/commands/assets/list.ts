import type { Command } from '@commander-js/extra-typings';
import type { AssetFilters } from '../../api/assets.ts';
import { itemsOf, totalOf } from '../../api/pages.ts';
import type { Context } from '../../context.ts';
import { exitCodes, MediactlError, usageError } from '../../errors.ts';
import { parseCount } from '../../settings/units.ts';
import { list as listOf } from '../../terminal/result.ts';
import type { Collection } from '../../wire/paths.ts';
import type { Asset } from '../../wire/types.ts';
import { example, type Run } from '../command.ts';
import { assetColumns } from './columns.ts';
import { dateHelp, filtersOf, refuseWorkspace, sortOption, withFilters } from './filters.ts';

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
    .addOption(sortOption)
    .option('--limit <number>', 'how many at most (20)')
    .option('--all', 'every one, however many pages that takes')
    .option('--offset <number>', 'how many to leave out at the beginning', '0')
    .option('--count', 'print how many there are')
    .action(
      run(async (context, options) => {
        refuseWorkspace(context, `${collection} ls`);
        const filters = await filtersOf(context, options);
        const api = await context.api();
        if (options.count) {
          const total = await countOf(context, collection, filters);
          return { kind: 'raw', text: String(total) } as const;
        }
        if (options.all && options.limit !== undefined)
          throw usageError('--all and --limit exclude each other', 'give one of them');
        const offset = parseCount('--offset', options.offset);
        const empty = `no ${collection}`;
        if (options.limit === undefined && !options.all)
          return listOf([await firstOf(context, collection, filters, offset)], assetColumns, empty);
        const limit = options.all ? undefined : parseCount('--limit', options.limit ?? '', 1);
        const pages = api[collection].list(filters, { limit, offset });
        return listOf(pages, assetColumns, empty);
      }),
    );
}

/**
 * The total that the service tells, if the last one is where it says: some count the page alone, or
 * stop counting. Then all are counted.
 */
async function countOf(
  context: Context,
  collection: Collection,
  filters: AssetFilters,
): Promise<number> {
  const { [collection]: assets } = await context.api();
  const first = await assets.page(filters, 1, 0);
  const total = totalOf(first, (await context.account()).names);
  if (total === undefined) throw noTotal();
  const last = total === 0 ? first : await assets.page(filters, 2, total - 1);
  if (itemsOf(last).length === Math.min(total, 1)) return total;
  let count = 0;
  for await (const page of assets.list(filters, {})) count += page.length;
  return count;
}

const defaultLimit = 20;

/** As many as one looks at; where there are more, that is said: a script must not take them for all. */
async function firstOf(
  context: Context,
  collection: Collection,
  filters: AssetFilters,
  offset: number,
): Promise<Asset[]> {
  const page = await (await context.api())[collection].page(filters, defaultLimit, offset);
  const items = itemsOf<Asset>(page).slice(0, defaultLimit);
  const total = totalOf(page, (await context.account()).names);
  if (total !== undefined && total > offset + items.length)
    context.terminal.say(`${items.length} of ${total}; --all for all, --limit for more`);
  return items;
}

const noTotal = () =>
  new MediactlError('the service does not tell how many there are', {
    code: 'no_total',
    exitCode: exitCodes.unclassified,
    reason: 'its pages carry no total under a name that is known (A01)',
    hint: 'count them: mediactl assets ls --all -q | wc -l',
  });
