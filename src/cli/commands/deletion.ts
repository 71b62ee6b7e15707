import { Chalk } from 'chalk';
import type { LibraryChange } from '../../client/changes/writer.ts';
import type { ApiRequest } from '../../client/http/api-request.ts';
import { byUid, type SelectedAsset } from '../../client/library/select-assets.ts';
import { runEach } from '../../client/run-each.ts';
import { parentOf } from '../../contract/asset.ts';
import type { Collection } from '../../contract/paths.ts';
import { formatCount, pluralize } from '../../shared/figures.ts';
import { asNumber, asText } from '../../shared/json-values.ts';
import { displayText } from '../../shared/sanitize.ts';
import type { Context } from '../context.ts';
import { LocationNames } from '../library/name-cache.ts';
import { runChange } from '../library/run-change.ts';
import { cellOf } from '../output/cells.ts';
import { type Column, listBy, type Result } from '../output/result.ts';
import type { OutputRecord } from '../reference/schemas.ts';
import { readBackText, toOutcomes, type WriteOutcome } from './bulk-result.ts';
import { dryRunColumns, toDryRunRecord } from './dry-run.ts';

/** An item to delete, as the confirmation prompt and --dry-run show it. Unknown values are null. */
type DeletedItem = Required<Pick<OutputRecord<'dry-run'>, 'name' | 'folder' | 'size_bytes' | 'created_at'>>;

/** Maximum number of items that the question before a deletion lists. */
export const maxDeletionLines = 100;

/** Maximum number of assets that are read without a notice. Each costs a request. */
const maxReadWithoutNotice = 20;

export const cannotRestore = (count: number) => `the API cannot restore ${count === 1 ? 'it' : 'them'}`;

/** Reads the assets of which no record is known, so that they can be named. One that cannot be read stays as it is. */
export async function readUnknown(
  context: Context,
  collection: Collection,
  targets: readonly SelectedAsset[],
): Promise<SelectedAsset[]> {
  const unknown = targets.filter(({ record }) => record === undefined);
  if (unknown.length === 0) return [...targets];
  if (unknown.length > maxReadWithoutNotice)
    context.terminal.info(`reading ${pluralize(unknown.length, 'asset')} to name them, at one request each`);
  const { [collection]: assets } = await context.api();
  const read = await runEach(unknown, ({ uid }) => assets.get(uid), context);
  const failure = read.find(({ error }) => error && !['notFound', 'forbidden'].includes(error.kind));
  if (failure) throw failure.error;
  const records = new Map(read.map(({ item, value }) => [item.uid, value]));
  return targets.map((target) => {
    const record = target.record ?? records.get(target.uid);
    return record ? byUid(target.uid, record) : target;
  });
}

/**
 * Describes assets to delete, by what is known of them.
 *
 * @param pathOf returns the path of an asset's folder, if the records do not show it
 */
export async function describeAssets(
  context: Context,
  targets: readonly SelectedAsset[],
  pathOf: (uid: string) => string | undefined = () => undefined,
): Promise<ListedItem[]> {
  const places = new LocationNames(context);
  await places.load(
    'folders',
    targets.map(({ record }) => record && parentOf(record)),
  );
  const items: ListedItem[] = [];
  for (const { uid, record } of targets) {
    const parent = record && parentOf(record);
    const shown = parent === undefined ? undefined : await places.folderPath(parent);
    items.push({
      uid,
      name: asText(record?.name) ?? null,
      folder: pathOf(uid) ?? shown ?? null,
      size_bytes: asNumber(record?.size) ?? null,
      created_at: asText(record?.created_at) ?? null,
    });
  }
  return items;
}

/** An item with its uid, empty for a folder, and its name as it is shown, if that is another. */
export type ListedItem = DeletedItem & { uid: string; label?: string };

const nameColumn = {
  field: 'name',
  value: ({ label, name, uid }: ListedItem) => displayText(label ?? name ?? uid),
  isFirst: true,
  minWidth: 12,
} as const satisfies Column<ListedItem>;

const otherColumns: Column<DeletedItem>[] = [
  { field: 'folder', minWidth: 12 },
  { field: 'size_bytes', noTruncate: true },
  { field: 'created_at', noTruncate: true },
];

/**
 * Returns the lines of a table of what a deletion removes, for the question before it, at most `maxDeletionLines`.
 *
 * @param count number of items that it removes, if that is more than are given
 */
export async function deletionLines(
  { terminal, clock }: Context,
  items: readonly ListedItem[],
  count = items.length,
): Promise<string[]> {
  const { renderTable } = await import('../output/table.lazy.ts');
  const colors = new Chalk({ level: 0 }); // the lines are escaped once more when they are printed
  const render = { isTerminal: true, columns: terminal.stderr.columns || 80, colors, now: clock.now() };
  const columns = [nameColumn, ...otherColumns];
  const shown = items.slice(0, maxDeletionLines);
  const rows = shown.map((item) => columns.map((column) => cellOf(column, item, render)));
  const left = count - shown.length;
  return [
    ...(shown.length > 0 ? renderTable(columns, rows, render).trimEnd().split('\n') : []),
    ...(left > 0 ? [`… and ${formatCount(left)} more; -n lists all of them`] : []),
  ];
}

export async function moveToTrash(
  context: Context,
  targets: readonly SelectedAsset[],
  options: Pick<LibraryChange, 'collection' | 'ageMs' | 'acceptsMissing'>,
): Promise<WriteOutcome[]> {
  if (targets.length === 0) return [];
  const { collection } = options;
  const { items } = await (await context.writer()).plan(targets, null, collection ? { collection } : {});
  const change = { command: 'rm', summary: 'move to the trash', items, ...options };
  const outcomes = toOutcomes(await runChange(context, change));
  const moved = outcomes.filter(({ error }) => !error);
  const readBack = readBackText(moved);
  if (readBack && !context.isHumanOutput)
    // a terminal has it in the line that tells the outcome
    context.terminal.info(`moved ${pluralize(moved.length, 'asset')} to the trash${readBack}`);
  return outcomes;
}

/**
 * Returns the dry run of a deletion: each item by name, folder, size and date, with its request.
 *
 * @param what the deletion in words, such as `move 3 assets to the trash`
 */
export function dryRunDeletion(
  context: Context,
  what: string,
  baseUrl: URL,
  items: readonly { request: ApiRequest; item: ListedItem }[],
): Result {
  const requests = pluralize(items.length, 'request');
  if (items.length > 0)
    context.terminal.info(`dry run: would ${what}, with ${requests}; ${cannotRestore(items.length)}`);
  type Row = ReturnType<typeof toDryRunRecord> & DeletedItem;
  const listed = new Map<Row, ListedItem>();
  const rows = items.map(({ request, item }): Row => {
    const { name, folder, size_bytes, created_at } = item;
    const row = { ...toDryRunRecord(request, baseUrl), name, folder, size_bytes, created_at };
    listed.set(row, item);
    return row;
  });
  const uid: Column<Row> = { header: 'UID', value: (row) => listed.get(row)?.uid ?? '', uid: 'asset' };
  const name: Column<Row> = { ...nameColumn, value: (row) => nameColumn.value(listed.get(row) as ListedItem) };
  const columns: Column<Row>[] = context.isHumanOutput
    ? [uid, name, ...otherColumns]
    : [...dryRunColumns, name, ...otherColumns];
  return listBy(({ url }) => url, rows, columns, '');
}
