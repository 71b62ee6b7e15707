import type { Context } from '../../context.ts';
import { exitCodes, MediactlError } from '../../errors.ts';
import { type NameOverrides, namesFor } from '../../wire/assumptions.ts';
import type { Folder } from '../../wire/types.ts';
import { isUid, onlyOne } from '../names.ts';
import { workspaceUid } from '../workspaces/resolve.ts';

const nameOf = (folder: Folder, names: NameOverrides) =>
  namesFor('folder_name', names).map((key) => folder[key])[0];

const childrenOf = (folder: Folder, names: NameOverrides): Folder[] => {
  const lists = namesFor('folder_children', names).map((key) => folder[key]);
  return (lists.find(Array.isArray) as Folder[] | undefined) ?? [];
};

/** A folder by uid, or by its path from the top of the workspace: `/Campaigns/2026`. */
export async function folderUid(context: Context, uidOrPath: string): Promise<string> {
  if (isUid(uidOrPath)) return uidOrPath;
  const { names } = await context.account();
  const api = await context.api();
  let level = await api.workspaces.folders(await workspaceUid(context));
  let found: Folder | undefined;
  for (const part of uidOrPath.split('/').filter(Boolean)) {
    const named = level.filter((folder) => nameOf(folder, names) === part);
    if (named.length === 0)
      throw new MediactlError(`no folder ${uidOrPath}`, {
        code: 'not_found',
        exitCode: exitCodes.notFound,
        reason: `there is no ${part} in ${found ? nameOf(found, names) : 'the top level'}`,
        hint: 'check the path; names count upper and lower case',
      });
    found = onlyOne('folder', part, named);
    level = childrenOf(found, names);
  }
  return (found as Folder).uid;
}

/** §4: "a parent folder uid in the primary workspace, or the literal root for top level". */
export const folderParent = async (context: Context, folder: string) =>
  isRoot(folder) ? 'root' : folderUid(context, folder);

export const isRoot = (folder: string) => /^\/*$/.test(folder) || folder === 'root';
