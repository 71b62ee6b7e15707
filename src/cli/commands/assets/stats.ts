import { Argument, type Command } from '@commander-js/extra-typings';
import { maxPageSize } from '../../../client/api/pagination.ts';
import { AssetStats, type AssetTotals, type CountedAsset } from '../../../client/library/asset-stats.ts';
import { listFolders } from '../../../client/library/filter-checks.ts';
import { ListScope } from '../../../client/library/workspace-in-use.ts';
import { formatBytes, formatCount, formatDuration, pluralize } from '../../../contract/figures.ts';
import { displayText, escapeControls } from '../../../contract/sanitize.ts';
import { type ActionWrapper, addExamples, withSuggestions } from '../../command.ts';
import type { Context } from '../../context.ts';
import { fetchFolderTree } from '../../library/folders.ts';
import { describeScope } from '../../library/workspaces.ts';
import { type Column, listBy, type Result } from '../../output/result.ts';
import type { OutputRecord } from '../../reference/schemas.ts';
import { formatCost } from '../../uploading/plan-view.ts';
import { collectFolderUids } from './list.ts';

type StatsRow = OutputRecord<'stats'>;

export function stats(command: Command, run: ActionWrapper): void {
  addExamples(command, 'mediactl stats', 'mediactl stats /Campaigns --csv')
    .description(
      'Counts assets, hours and bytes by folder, type, status and month of creation, and shows the largest, the longest, likely duplicates, and what is not ready. Lists all assets once, or those of a folder and the folders below it.',
    )
    .addArgument(withSuggestions(new Argument('[folder]', 'folder, by path or uid; / lists each folder'), 'folders'))
    .action(run(runStats));
}

async function runStats(context: Context, folder: string | undefined): Promise<Result> {
  const { terminal, clock } = context;
  const { assets, transport } = await context.api();
  const collected = new AssetStats();
  const scope = new ListScope((await context.library()).workspaceInUse);
  const onTotal = (total: number | undefined) => {
    if (total === undefined) return;
    const cost = formatCost(Math.ceil(total / maxPageSize), transport.connection.rateLimit, clock.now());
    terminal.info(`listing ${pluralize(total, 'asset')}: ${cost}`);
  };
  if (folder === undefined)
    for await (const page of scope.keep(assets.list({}, { onTotal }))) for (const asset of page) collected.add(asset);
  else
    for await (const { parent, page } of listFolders(assets, await collectFolderUids(context, folder)))
      for (const asset of page) collected.add(asset, parent === 'root' ? null : parent);
  const scopeText = describeScope(scope);
  if (scopeText) terminal.info(scopeText);
  const { total } = collected;
  const hidden = [
    ...(total.size_bytes === null ? ['sizes'] : []),
    ...(total.duration_seconds === null ? ['durations'] : []),
  ];
  if (hidden.length > 0 && total.asset_count > 0) terminal.info(`the service does not show ${hidden.join(' or ')}`);
  if (collected.totalsBy('folder').size === 0 && total.asset_count > 0)
    terminal.info('the list does not show folders; mediactl stats /, to list each folder instead');
  return listBy(({ uid, value }) => uid ?? value ?? '', await toRows(context, collected), columns, 'no assets');
}

async function toRows(context: Context, collected: AssetStats): Promise<StatsRow[]> {
  const byFolder = collected.totalsBy('folder');
  const tree = byFolder.size > 0 ? (await fetchFolderTree(context)).tree : undefined;
  const pathOf = (uid: string) => (uid === '' ? '/' : (tree?.find(uid)?.path ?? uid));
  const row = (section: StatsRow['section'], totals: AssetTotals, value: string | null = null): StatsRow => {
    return { section, value, uid: null, name: null, duplicate_group: null, ...totals };
  };
  const ofGroups = (section: StatsRow['section'], groups: Iterable<[string | null, AssetTotals]>) =>
    [...groups]
      .sort(([one], [other]) => (one === null || other === null ? (one === null ? 1 : -1) : one.localeCompare(other)))
      .map(([value, totals]) => row(section, totals, value));
  const ofAssets = (section: StatsRow['section'], assets: readonly CountedAsset[], group: number | null = null) =>
    assets.map(({ uid, name, ...totals }) => ({ ...row(section, totals), uid, name, duplicate_group: group }));
  return [
    row('total', collected.total),
    ...ofGroups(
      'folder',
      [...byFolder].map(([uid, totals]) => [uid === null ? null : pathOf(uid), totals]),
    ),
    ...(['type', 'status', 'month'] as const).flatMap((group) => ofGroups(group, collected.totalsBy(group))),
    ...ofAssets('largest', collected.largest),
    ...ofAssets('longest', collected.longest),
    ...collected.sameSizeAndDuration.flatMap((assets, at) => ofAssets('same_size_and_duration', assets, at + 1)),
    ...collected.sameName.flatMap((assets, at) => ofAssets('same_name', assets, at + 1)),
    ...ofAssets('not_ready', collected.notReady),
    ...ofAssets('failed', collected.failed),
  ];
}

const columns: Column<StatsRow>[] = [
  {
    header: 'SECTION',
    value: ({ section }, { isTerminal }) => (isTerminal ? section.replaceAll('_', ' ') : section),
    noTruncate: true,
  },
  {
    header: 'VALUE',
    value: ({ section, value, name }, { isTerminal }) =>
      escapeControls(value ?? name ?? (isTerminal && section !== 'total' ? '(not shown)' : '')),
    minWidth: 18,
  },
  { header: 'UID', value: ({ uid }) => displayText(uid), uid: 'asset', dropPriority: 2 },
  { header: 'GROUP', value: ({ duplicate_group }) => displayText(duplicate_group), dropPriority: 1 },
  {
    header: 'ASSETS',
    value: ({ asset_count }, { isTerminal }) => (isTerminal ? formatCount : String)(asset_count),
    noTruncate: true,
  },
  {
    header: 'LENGTH',
    value: ({ duration_seconds: seconds }, { isTerminal }) =>
      isTerminal && seconds !== null ? formatDuration(seconds) : displayText(seconds),
    noTruncate: true,
  },
  {
    header: 'SIZE',
    value: ({ size_bytes: bytes }, { isTerminal }) =>
      isTerminal && bytes !== null ? formatBytes(bytes) : displayText(bytes),
    noTruncate: true,
  },
];
