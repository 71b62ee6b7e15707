import { slugsOf } from '../../contract/asset.ts';
import { describeWrongTag } from '../../contract/slug.ts';
import type { AssetRecord } from '../../contract/types.ts';
import { isSameUid, isUid } from '../../contract/uid.ts';
import { asCodedError } from '../errors.ts';
import type { WorkspaceFolderTree } from '../library/folder-tree.ts';
import { describeReformatting } from '../table/guard.ts';
import type { EditedRow } from './apply-rows.ts';
import { parseFolderPath } from './folder-creation.ts';
import type { WantedChange } from './items.ts';
import {
  type EditableColumn,
  type FolderPaths,
  findAppliedFolder,
  hashCell,
  isExact,
  isKnownFolder,
  normalizeCell,
  tagsIn,
} from './sheet.ts';
import type { ApplyDeps, ApplyOptions, ApplyPlan, SheetOutcome } from './sheet-change.ts';

/** What the rows of a table are compared with. */
export type RowComparison = {
  tree: WorkspaceFolderTree | undefined;
  paths: FolderPaths;
  isJson: boolean;
  options: ApplyOptions;
  plan: ApplyPlan;
};

type Cell = {
  column: EditableColumn;
  text: string;
  /** Value in the library; undefined if the service does not show it. */
  now: string | undefined;
  /** Uid of the asset's folder; null at the top level, undefined if it is not known. */
  folder: string | null | undefined;
};

type CellResult = { outcome: SheetOutcome; reason?: string | null; change?: WantedChange };

/** Compares a cell with the library. @returns undefined if there is nothing to say of it */
export function compareCell(
  { assets }: ApplyDeps,
  comparison: RowComparison,
  { texts, literalColumns, hashes, known, outdated, writes, shuffled }: EditedRow,
  asset: AssetRecord,
  { column, text, now, folder }: Cell,
): CellResult | undefined {
  const { isJson, options } = comparison;
  const isOutdated = column in outdated;
  const applied = column === 'folder' ? findAppliedFolder(assets, writes, text) : undefined;
  const isSame = now !== undefined && normalizeCell(now) === text;
  if (isSame || (applied && folder && isSameUid(applied, folder))) {
    const isClean = !isSame || isExact(now) === isExact(texts[column] ?? text);
    return isOutdated ? undefined : { outcome: 'unchanged', reason: isClean ? null : inexactReason };
  }
  const change = toWanted(comparison, asset, column, text, applied);
  const isTyped = isJson || literalColumns.includes(column);
  const reformatting = isTyped ? undefined : describeReformatting(normalizeCell(now ?? ''), text);
  const hasKnown = now !== undefined && known?.columns[column]?.includes(hashCell(asset.uid, column, now));
  const isBase = hasKnown || (column === 'folder' && isKnownFolder(asset.uid, known, folder));
  if (isOutdated && !isBase && !options.restores) return undefined; // others have changed it since, and the table has not
  if (typeof change === 'string') return { outcome: 'invalid', reason: change };
  if (isOutdated && !options.restores)
    return {
      outcome: options.prefer === 'theirs' ? 'kept' : 'outdated',
      reason: 'it is as exported, though an earlier apply of this table changed it',
    };
  if (shuffled?.has(column)) return { outcome: 'refused', reason: shuffledReason };
  if (reformatting) return { outcome: 'refused', reason: `a spreadsheet seems to have changed it: ${reformatting}` };
  const isNewValue = known?.columns[column] === undefined && now === '';
  if (!hashes || isBase || isNewValue || options.prefer === 'mine') return { outcome: 'planned', change };
  return {
    outcome: options.prefer === 'theirs' ? 'kept' : 'conflict',
    reason: now === undefined ? 'the service does not show its value' : 'it was also changed in the library',
  };
}

/** Reason of a cell that is not written, though it is not the same letter by letter. */
const inexactReason = 'it differs only in spaces at the ends or in composed accents, which apply does not change';

const shuffledReason =
  'its column has the values of other rows, as if it was sorted without the others (--shuffled writes them)';

/** Returns the change for a cell, or why it cannot be written. A folder to create is named by its path. */
function toWanted(
  { tree, options }: RowComparison,
  asset: AssetRecord,
  column: EditableColumn,
  text: string,
  applied: string | undefined,
): WantedChange | string {
  if (column === 'tags') return describeWrongTag(tagsIn(text), slugsOf(asset)) ?? { tags: { set: tagsIn(text) } };
  if (column === 'description') return { fields: { description: text } };
  if (text === '') return column === 'name' ? 'a name cannot be empty' : 'the top level is /';
  if (column === 'name') return { fields: { name: text } };
  if (text === '/') return { folder: null };
  if (applied && tree?.find(applied)) return { folder: applied };
  const atUid = isUid(text) ? tree?.find(text) : undefined;
  const [folder, ...others] = atUid ? [atUid] : (tree?.findByPath(text) ?? []);
  if (others.length > 0) return `${others.length + 1} folders are at ${text}; use the uid of one`;
  if (folder) return { folder: folder.folder.uid };
  if (isUid(text) || !options.mayCreateFolders) {
    const meant = tree?.findOtherCase(text);
    return `folder ${text} does not exist${meant === undefined ? '' : `; did you mean ${meant}?`}`;
  }
  try {
    parseFolderPath(text);
  } catch (error) {
    return asCodedError(error).message;
  }
  return { folder: text };
}

/** Adds the folders of a path that do not exist. @param folder path, or the uid of a folder that exists */
export function addNewFolders({ newFolders }: ApplyPlan, tree: WorkspaceFolderTree | undefined, folder: string): void {
  if (isUid(folder)) return;
  const names = parseFolderPath(folder);
  for (const [at] of names.entries()) {
    const path = `/${names.slice(0, at + 1).join('/')}`;
    if (!newFolders.includes(path) && tree?.findByPath(path).length === 0) newFolders.push(path);
  }
}
