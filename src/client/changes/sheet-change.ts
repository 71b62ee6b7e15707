import type { AssetRecord } from '../../contract/types.ts';
import type { AssetsApi } from '../api/assets.ts';
import type { WorkspaceFolderTree } from '../library/folder-tree.ts';
import type { SelectedAsset } from '../library/select-assets.ts';
import type { Belonging, Membership } from '../library/workspace-in-use.ts';
import type { SourceWrite } from './change-history.ts';
import type { ChangeItem } from './change-item.ts';
import type { EditableColumn, RowHashes } from './sheet.ts';

/**
 * Outcome of a cell, or of a whole row if the column is null. `outdated` is a cell that equals its exported value, though
 * an earlier apply of the table gave the asset another one.
 */
export type SheetOutcome =
  | 'planned'
  | 'unchanged'
  | 'conflict'
  | 'outdated'
  | 'kept'
  | 'refused'
  | 'not_found'
  | 'skipped'
  | 'invalid';

/** A cell that was edited, or a row that cannot be applied. */
export type SheetChange = {
  /** Line in the file, from 1. */
  line: number;
  uid: string | null;
  /** Name of the asset now. */
  name: string | null;
  column: EditableColumn | null;
  /** Value in the library now. */
  before: string | null;
  /** Value in the file. */
  after: string | null;
  outcome: SheetOutcome;
  reason: string | null;
};

/** Options for reading and comparing a table. */
export type ApplyOptions = {
  /** Cell of a table without the column `was` that clears the value; undefined if none does. */
  clearWith: string | undefined;
  /** Value that wins where both the file and the library were changed; undefined for neither. */
  prefer: 'theirs' | 'mine' | undefined;
  /** True to write the exported value back where an earlier apply of the table gave the asset another one. */
  restores: boolean;
  /** True to write a column whose values are those of other rows. */
  isShuffled: boolean;
  mayCreateFolders: boolean;
  signal: AbortSignal;
};

export type ApplyDeps = {
  assets: AssetsApi;
  /** Returns the folder tree of the workspace. Called only if a folder was edited. */
  tree(): Promise<WorkspaceFolderTree>;
  /** Returns the folder of an asset whose record does not show it; undefined if it is not known. */
  findFolder(asset: AssetRecord): Promise<string | null | undefined>;
  /** Returns whether the asset of a row is in the workspace in use. @param hashes undefined if the row has none */
  belongingOf(asset: AssetRecord, hashes: RowHashes | undefined): Promise<Belonging>;
  /** Reads assets of which the workspace is not known, at one request each, if several workspaces are possible. */
  classify(assets: readonly AssetRecord[]): Promise<Membership>;
  /** Returns the asset at a path such as `/Campaigns/clip.mp4`. @throws CodedError if it is not exactly one */
  findByPath(path: string): Promise<SelectedAsset>;
  /**
   * Returns what earlier applies of this table, and their undos, wrote to an asset since a time (ms since the epoch),
   * oldest first.
   */
  findWrites(uid: string, since: number): Promise<readonly SourceWrite[]>;
};

export type ApplyPlan = {
  rowCount: number;
  changes: SheetChange[];
  /** Assets to change. A folder that does not exist yet is named by its path in `newFolders`. */
  items: ChangeItem[];
  /** Paths of the folders to create. */
  newFolders: string[];
  /** Assets as they were read, by uid (`normalizeUid`), of which an earlier apply may have written something. */
  found: Map<string, AssetRecord>;
  /** Assets to change of which the workspace is not known. */
  unknown: AssetRecord[];
  /** Number of requests that were sent to read the assets. */
  readCount: number;
  ignoredColumns: string[];
};

/** Creates a change. What is not given is null. */
export const toSheetChange = (
  line: number,
  fields: Partial<SheetChange> & Pick<SheetChange, 'outcome'>,
): SheetChange => ({
  ...{ line, uid: null, name: null, column: null, before: null, after: null, outcome: fields.outcome, reason: null },
  ...fields,
});
