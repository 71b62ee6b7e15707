import type { AssetRecord } from '../../contract/types.ts';
import { CodedError, usageError } from '../errors.ts';
import type { FolderContent } from '../library/folder-reader.ts';
import type { WorkspaceFolderTree } from '../library/folder-tree.ts';
import type { Library } from '../library/library.ts';
import type { ChangeItem } from './change-item.ts';

/**
 * Asserts that assets are moved only into folders of their own workspace. What is known of neither is sent as named.
 *
 * @param findTree returns the folders of the workspace in use; undefined if they cannot be read
 * @throws CodedError `usage` (exit 2) if an asset is in another workspace than its folder
 */
export async function assertOwnPlaces(
  { api, workspaceInUse }: Library,
  items: readonly ChangeItem[],
  findTree: () => Promise<WorkspaceFolderTree | undefined>,
): Promise<void> {
  const moves = items.flatMap(({ kind, after, record }) => {
    const folder = kind === 'asset' && record && after ? api.assets.folderIn(after) : undefined;
    return folder === undefined ? [] : [{ record: record as AssetRecord, folder }];
  });
  if (moves.length === 0) return;
  const tree = moves.some(({ folder }) => folder !== null) ? await findTree() : undefined;
  const { others } = await workspaceInUse.classifyListed(moves.map(({ record }) => record));
  const wrong = moves.find(({ record, folder }) => others.includes(record) && (folder === null || tree?.find(folder)));
  if (wrong)
    throw usageError(
      `asset ${wrong.record.uid} is in another workspace than the folder`,
      'use a folder of its own workspace',
      'the API moves no asset between workspaces',
    );
}

/** @throws CodedError `conflict` (exit 6) if a folder to delete has content; `usage` (exit 2) if that is not known */
export function assertDeletable(path: string, content: FolderContent, accepts: AcceptedContent | undefined): void {
  if (content === 'empty' || accepts === 'any' || content === accepts) return;
  if (content === 'assets')
    throw new CodedError(`${path} was not deleted`, { subcode: 'conflict', reason: 'it is not empty' });
  throw usageError(
    `cannot tell whether ${path} is empty, so it was not deleted`,
    undefined,
    'the API lists the folders of the primary workspace only',
  );
}

/** Content with which a folder may be deleted: any, as the user has said, or what is not known. Default: none. */
export type AcceptedContent = 'any' | 'unknown';
