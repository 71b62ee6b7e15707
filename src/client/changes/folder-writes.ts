import { normalizeUid } from '../../contract/uid.ts';
import { asText } from '../../shared/json-values.ts';
import type { Api } from '../api/api.ts';
import type { FolderChange } from '../api/folders.ts';
import { assertApplied, verifyWrite } from '../api/write-check.ts';
import { writesOf } from '../api/writes.ts';
import { CodedError } from '../errors.ts';
import {
  type FolderNode,
  fetchFolderTree,
  folderValuesOf,
  parseParentUid,
  type WorkspaceFolderTree,
} from '../library/folder-tree.ts';

/** A folder that was written, and the folder tree after the write. */
type FolderWriteResult = { node: FolderNode; tree: WorkspaceFolderTree };

/**
 * Creates a folder and verifies its name and parent in the folder tree.
 *
 * @param trustsResponse true to verify only if the response shows another name or parent than was sent, or a folder
 *   that the tree already has
 * @throws CodedError `write_ignored` (exit 6) if the folder has another name or parent
 */
export async function createFolder(
  api: Api,
  workspace: string,
  tree: WorkspaceFolderTree,
  { name, parent = null }: FolderChange,
  trustsResponse = false,
): Promise<{ uid: string; tree: WorkspaceFolderTree; node: FolderNode | undefined }> {
  const made = await writesOf(api).folders.create(workspace, tree, { name, parent });
  const { uid } = made;
  const shownName = asText(made[tree.nameField]) ?? name;
  const hasOtherParent = Object.keys(made)
    .filter((field) => field === tree.parentField || /parent/i.test(field))
    .map((field) => parseParentUid(made[field]))
    .some((shown) => shown !== undefined && normalizeUid(shown ?? '') !== normalizeUid(parent ?? ''));
  const isTrusted = trustsResponse && shownName === name && !hasOtherParent && !tree.find(uid);
  if (isTrusted) return { uid, tree, node: undefined };
  return { uid, ...(await verifyFolder(api, workspace, uid, { name, parent }, true)) };
}

/** Renames or moves a folder and verifies the change. @throws CodedError `write_ignored` (exit 6) */
export async function changeFolder(
  api: Api,
  workspace: string,
  uid: string,
  tree: WorkspaceFolderTree,
  change: FolderChange,
): Promise<FolderWriteResult> {
  await writesOf(api).folders.change(workspace, uid, tree, change);
  return verifyFolder(api, workspace, uid, change);
}

/** Verifies a write in the folder tree, because the record of a folder does not always name its parent. */
const verifyFolder = (
  api: Api,
  workspace: string,
  uid: string,
  { name, parent }: FolderChange,
  isNew = false,
): Promise<FolderWriteResult> =>
  verifyWrite(api.transport, async () => {
    const tree = await fetchFolderTree(api, workspace);
    const node = tree.find(uid);
    if (!node)
      throw new CodedError('the workspace does not contain the folder', {
        code: 'write_ignored',
        reason: `the service accepted the change, but its folder tree has no ${uid}`,
        remedy: ['set_field_names', 'folder_children'],
        details: { uid },
      });
    const actual = { uid, ...folderValuesOf(node) };
    assertApplied({
      noun: isNew ? `the new folder ${node.path} (${uid})` : 'the folder',
      requested: { ...(name !== undefined && { name }), ...(parent !== undefined && { parent }) },
      actual,
      remedy: [
        'set_field_names',
        ...(name !== undefined && name !== actual.name ? (['folder_name'] as const) : []),
        ...(parent !== undefined && parent !== actual.parent ? (['folder_parent'] as const) : []),
      ],
    });
    return { node, tree };
  });

/** Returns those of some deleted folders that the service still has, with the error that says so. */
export const findRemainingFolders = (
  api: Api,
  workspace: string,
  uids: readonly string[],
): Promise<Map<string, CodedError>> =>
  verifyWrite(api.transport, async (isLast) => {
    const tree = await fetchFolderTree(api, workspace);
    const remaining = uids
      .flatMap((uid) => tree.find(uid) ?? [])
      .map(({ folder: { uid }, path }) => {
        const error = new CodedError(`the service did not delete ${path}`, {
          code: 'write_ignored',
          reason: 'it accepted the request, but still has the folder',
          hint: 'list the folders, to see it',
          details: { uid },
        });
        if (isLast) return [uid, error] as const;
        throw error;
      });
    return new Map(remaining);
  });
