import type { Command } from '@commander-js/extra-typings';
import { totalOf } from '../../api/pages.ts';
import { exitCodes, MediactlError, usageError } from '../../errors.ts';
import { parseCount, parseDay } from '../../profiles/units.ts';
import { list as listOf } from '../../terminal/result.ts';
import { assetStatuses, assetTypes } from '../../wire/assumptions.ts';
import type { Collection } from '../../wire/paths.ts';
import { example, type Run } from '../command.ts';
import { folderParent } from '../folders/resolve.ts';
import { assetColumns } from './columns.ts';

const sortFields = ['created_at', 'name', 'duration'];

export function list(command: Command, run: Run, collection: Collection): void {
  example(
    command,
    `mediactl ${collection} ls --status ready --created-after 7d`,
    `mediactl ${collection} ls --search intro --sort name --limit 5`,
    `mediactl ${collection} ls --all --jsonl`,
  );
  const filtered = command
    .alias('list')
    .summary(`list ${collection}`)
    .description(
      `Lists ${collection}, the newest first. DATE is YYYY-MM-DD, today, or an age such as 7d or 2w.`,
    )
    .option('--search <text>', 'words in name and description')
    .option('--status <status>', `processing status, such as ${assetStatuses.join(', ')}`)
    .option('--tag <slug>', 'tag')
    .option('--created-after <date>', 'created on or after')
    .option('--created-before <date>', 'created on or before')
    .option('--sort <field>', `${sortFields.join(', ')}; -FIELD turns it round`)
    .option('--limit <number>', 'how many at most', '20')
    .option('--all', 'all there are')
    .option('--offset <number>', 'how many to leave out at the beginning', '0')
    .option('--count', 'print how many there are');
  // "Assets list only: `type` … and `parent`" (§4)
  const withAssetFilters = () =>
    filtered
      .option('--type <type>', assetTypes.join(', '))
      .option('--folder <folder>', 'folder, by uid or path; / for the top level');
  const typed =
    collection === 'assets'
      ? withAssetFilters()
      : (filtered as unknown as ReturnType<typeof withAssetFilters>);
  typed.action(
    run(async (context, options) => {
      const now = context.clock.now();
      const { createdAfter, createdBefore, folder, sort } = options;
      if (context.settings.workspaceAsked)
        throw usageError(
          `${collection} ls does not take --workspace`,
          `leave it out, or name a folder: mediactl assets ls --folder /PATH`,
          'the API lists what the key can see, and cannot filter by workspace',
        );
      const api = await context.api();
      const filters = {
        search: options.search,
        status: options.status,
        tag: options.tag,
        created_after: createdAfter && parseDay('--created-after', createdAfter, now),
        created_before: createdBefore && parseDay('--created-before', createdBefore, now),
        ordering: sort && ordering(sort),
        type: options.type,
        parent: folder && (await folderParent(context, folder)),
      };
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

function ordering(sort: string): string {
  if (sortFields.includes(sort.replace(/^-/, ''))) return sort;
  throw usageError(
    `--sort does not take '${sort}'`,
    `${sortFields.join(', ')}, or one with - before it`,
  );
}

const noTotal = () =>
  new MediactlError('the service does not tell how many there are', {
    code: 'no_total',
    exitCode: exitCodes.unclassified,
    reason: 'its pages carry no total under a name that is known (A01)',
    hint: 'count them: mediactl assets ls --all -q | wc -l',
  });
