import { Argument, type Command, Option } from '@commander-js/extra-typings';
import { maxPageSize } from '../../../client/api/pagination.ts';
import { AssetStats, type AssetTotals, type CountedAsset } from '../../../client/library/asset-stats.ts';
import { ListScope } from '../../../client/library/workspace-in-use.ts';
import { describeScope, formatCount, pluralize } from '../../../shared/figures.ts';
import { displayText, escapeControls, quoteForShell } from '../../../shared/sanitize.ts';
import { type ActionWrapper, addExamples, type FlagsOf, withSuggestions } from '../../command.ts';
import type { Context } from '../../context.ts';
import { fetchFolderTreeIfAny } from '../../library/folders.ts';
import { cellOf } from '../../output/cells.ts';
import { type Column, listBy, type Result, record } from '../../output/result.ts';
import type { OutputRecord } from '../../reference/schemas.ts';
import { formatCost } from '../../uploading/plan-view.ts';
import { collectFolderUids } from './assets-in-folders.ts';

type StatsRow = OutputRecord<'stats'>;
type Section = StatsRow['section'];

export function stats(command: Command, run: ActionWrapper): void {
  addExamples(
    command,
    'mediactl stats',
    'mediactl stats /Campaigns --csv',
    'mediactl stats --by tag',
    'mediactl stats --duplicates',
  );
  addStatsOptions(command).action(run(runStats));
}

const groupings = ['folder', 'type', 'status', 'month', 'tag'] as const;

const addStatsOptions = (command: Command) =>
  command
    .description(
      'Counts assets, hours and bytes by folder, type, status, month of creation and tag, and shows the largest, the longest, likely duplicates, and what is not ready. Lists all assets once, or those of a folder and the folders below it. On a terminal, a section has up to ten lines, and a section alone has all.',
    )
    .addArgument(withSuggestions(new Argument('[folder]', 'folder, by path or uid; / lists each folder'), 'folders'))
    .addOption(new Option('--by <what>', 'only the counts by this').choices(groupings))
    .option('--duplicates', 'only assets with equal checksums, or else with equal names and sizes');

type StatsFlags = FlagsOf<typeof addStatsOptions>;

async function runStats(context: Context, folder: string | undefined, flags: StatsFlags): Promise<Result> {
  const { by, duplicates = false } = flags;
  const collected = await collect(context, folder);
  describeHidden(context, collected, flags);
  const isAll = by === undefined && !duplicates;
  const isWanted = ({ section }: StatsRow) =>
    isAll || section === by || (duplicates && duplicateSections.includes(section));
  const rows = (await toRows(context, collected)).filter(isWanted);
  if (!context.canUseSentences || rows.length === 0)
    return listBy(({ uid, value }) => uid ?? value ?? '', rows, columns, emptyText(flags));
  const uids = rows.flatMap(({ uid }) => uid ?? []);
  const short = await (await context.shortUids())?.shorten('asset', uids);
  const { renderTable } = await import('../../output/table.lazy.ts');
  const again = folder === undefined ? 'mediactl stats' : `mediactl stats ${quoteForShell(folder)}`;
  const maxLines = isAll ? maxSectionLines : Number.POSITIVE_INFINITY;
  return record(rows, '', (_, render) =>
    sections
      .map((section) => ({ section, own: rows.filter((row) => row.section === section.name) }))
      .filter(({ own }) => own.length > 0)
      .map(({ section, own }) => {
        const shown = own.slice(0, maxLines);
        const view = section.columns(short ?? ((uid) => uid));
        const cells = shown.map((row) => view.map((column) => cellOf(column, row, render)));
        const left = own.length - shown.length;
        const more = left > 0 ? `… and ${formatCount(left)} more; all of them: ${again} ${section.all}` : '';
        const heading = `${render.colors.bold(section.heading)}\n`;
        return `${heading}${renderTable(view, cells, render)}${more && `${render.colors.dim(more)}\n`}`;
      })
      .join('\n'),
  );
}

const emptyText = ({ by, duplicates }: StatsFlags) => {
  const wanted = [...(by === 'tag' ? ['no tags'] : []), ...(duplicates ? ['no duplicates'] : [])];
  return wanted.length > 0 ? wanted.join(' and ') : 'no assets';
};

async function collect(context: Context, folder: string | undefined): Promise<AssetStats> {
  const { terminal, clock } = context;
  const { assets, transport } = await context.api();
  const collected = new AssetStats();
  const { workspaceInUse, folderReader } = await context.library();
  const scope = new ListScope(workspaceInUse);
  const onTotal = (total: number | undefined) => {
    if (total === undefined) return;
    const cost = formatCost(Math.ceil(total / maxPageSize), transport.connection.rateLimit, clock.now());
    terminal.info(`listing ${pluralize(total, 'asset')}: ${cost}`);
  };
  if (folder === undefined)
    for await (const page of scope.keep(assets.list({}, { onTotal }))) for (const asset of page) collected.add(asset);
  else
    for await (const { parent, page } of folderReader.listEach(await collectFolderUids(context, folder)))
      for (const asset of page) collected.add(asset, parent === 'root' ? null : parent);
  const scopeText = describeScope(scope);
  if (scopeText) terminal.info(scopeText);
  return collected;
}

/** Says which values the service does not show, of those that the wanted sections need. */
function describeHidden({ terminal }: Context, collected: AssetStats, { by, duplicates }: StatsFlags): void {
  const { total } = collected;
  if (total.asset_count === 0) return;
  const isAll = by === undefined && !duplicates;
  const hidden = [
    ...(isAll && total.size_bytes === null ? ['sizes'] : []),
    ...(isAll && total.duration_seconds === null ? ['durations'] : []),
    ...(by === 'tag' && collected.totalsBy('tag').size === 0 ? ['tags'] : []),
  ];
  if (hidden.length > 0) terminal.info(`the service does not show ${hidden.join(' or ')}`);
  if ((isAll || by === 'folder') && collected.totalsBy('folder').size === 0)
    terminal.info('the list does not show folders; mediactl stats /, to list each folder instead');
  if (duplicates && !collected.canCompare)
    terminal.info('the service shows neither checksums nor sizes, so duplicates cannot be found');
}

async function toRows(context: Context, collected: AssetStats): Promise<StatsRow[]> {
  const byFolder = collected.totalsBy('folder');
  const tree = byFolder.size > 0 ? await fetchFolderTreeIfAny(context) : undefined;
  const pathOf = (uid: string) => (uid === '' ? '/' : (tree?.find(uid)?.path ?? uid));
  const row = (section: Section, totals: AssetTotals, value: string | null = null): StatsRow => {
    return { section, value, uid: null, name: null, duplicate_group: null, ...totals };
  };
  const ofGroups = (section: Section, groups: Iterable<[string | null, AssetTotals]>) =>
    [...groups]
      .sort(section === 'month' ? newestFirst : mostFirst)
      .map(([value, totals]) => row(section, totals, value));
  const ofAssets = (section: Section, assets: readonly CountedAsset[], group: number | null = null) =>
    assets.map(({ uid, name, ...totals }) => ({ ...row(section, totals), uid, name, duplicate_group: group }));
  return [
    row('total', collected.total),
    ...ofGroups(
      'folder',
      [...byFolder].map(([uid, totals]) => [uid === null ? null : pathOf(uid), totals]),
    ),
    ...(['type', 'status', 'month', 'tag'] as const).flatMap((group) => ofGroups(group, collected.totalsBy(group))),
    ...ofAssets('largest', collected.largest),
    ...ofAssets('longest', collected.longest),
    ...collected.sameChecksum.flatMap((assets, at) => ofAssets('same_checksum', assets, at + 1)),
    ...collected.sameNameAndSize.flatMap((assets, at) => ofAssets('same_name_and_size', assets, at + 1)),
    ...ofAssets('not_ready', collected.notReady),
    ...ofAssets('failed', collected.failed),
  ];
}

type Group = [value: string | null, totals: AssetTotals];

/** Sorts the groups with the most assets first, and what the service does not show last. */
const mostFirst = ([one, { asset_count: a }]: Group, [other, { asset_count: b }]: Group) =>
  Number(one === null) - Number(other === null) || b - a || (one ?? '').localeCompare(other ?? '');

const newestFirst = ([one]: Group, [other]: Group) =>
  Number(one === null) - Number(other === null) || (other ?? '').localeCompare(one ?? '');

const duplicateSections: readonly Section[] = ['same_checksum', 'same_name_and_size'];

/** Maximum number of lines of a section on a terminal, if all sections are shown. */
const maxSectionLines = 10;

const [assetCount, length, size]: [Column<StatsRow>, Column<StatsRow>, Column<StatsRow>] = [
  {
    field: 'asset_count',
    value: ({ asset_count }, { isTerminal }) => (isTerminal ? formatCount : String)(asset_count),
    noTruncate: true,
  },
  { field: 'duration_seconds', noTruncate: true },
  { field: 'size_bytes', noTruncate: true },
];

const group: Column<StatsRow> = { field: 'duplicate_group', dropPriority: 1 };

/** Columns in a pipe and with --fields. */
const columns: Column<StatsRow>[] = [
  { field: 'section', noTruncate: true },
  { header: 'VALUE', value: ({ value, name }) => escapeControls(value ?? name ?? ''), minWidth: 18 },
  { field: 'uid', uid: 'asset', dropPriority: 2 },
  group,
  assetCount,
  length,
  size,
];

type SectionView = {
  name: Section;
  heading: string;
  /** Arguments of `stats` that show all lines. */
  all: string;
  /** Returns the columns on a terminal. @param short shortens a uid */
  columns(short: (uid: string) => string): Column<StatsRow>[];
};

const groupSection = (
  name: (typeof groupings)[number],
  heading: string,
  header: string,
  absent: string,
): SectionView => ({
  ...{ name, heading, all: `--by ${name}` },
  columns: () => [
    { header, value: ({ value }) => escapeControls(value || (value === '' ? absent : '(not shown)')), minWidth: 18 },
    ...[assetCount, length, size],
  ],
});

const assetSection = (name: Section, heading: string, all = '--csv'): SectionView => ({
  ...{ name, heading, all },
  columns: (short) => [
    ...(duplicateSections.includes(name) ? [group] : []),
    { field: 'name', value: ({ name: own }: StatsRow) => displayText(own), minWidth: 18 },
    { field: 'uid', value: ({ uid }: StatsRow) => displayText(uid && short(uid)), noTruncate: true },
    ...[length, size],
  ],
});

const sections: readonly SectionView[] = [
  { name: 'total', heading: 'Total', all: '', columns: () => [assetCount, length, size] },
  groupSection('folder', 'By folder, the fullest first', 'FOLDER', '/'),
  groupSection('type', 'By type', 'TYPE', ''),
  groupSection('status', 'By status', 'STATUS', ''),
  groupSection('month', 'By month of creation, the latest first', 'MONTH', ''),
  groupSection('tag', 'By tag', 'TAG', '(no tags)'),
  assetSection('largest', 'Largest'),
  assetSection('longest', 'Longest'),
  assetSection('same_checksum', 'Duplicates: equal checksums', '--duplicates'),
  assetSection('same_name_and_size', 'Likely duplicates: equal names and sizes', '--duplicates'),
  assetSection('not_ready', 'Not ready'),
  assetSection('failed', 'Failed'),
];
