import { isUid } from '../../contract/uid.ts';
import type { FolderChange } from '../api/folders.ts';
import { CodedError, usageError } from '../errors.ts';
import type { FolderNode, WorkspaceFolderTree } from '../library/folder-tree.ts';
import { descendantsOf } from '../library/library-paths.ts';

/**
 * Checks a change of a folder, since the service accepts changes that make paths unclear.
 *
 * @throws CodedError `usage` (exit 2) for a name with a slash, `.` or `..`, and for a folder that is moved into
 *   itself; `not_found` (exit 3) if the parent does not exist; `already_exists` (exit 6) if it already has a folder
 *   of that name
 */
export function assertFolderChange(tree: WorkspaceFolderTree, node: FolderNode, change: FolderChange): void {
  const { name, parent } = change;
  if (name !== undefined) assertFolderName(name);
  const target = typeof parent === 'string' ? tree.find(parent) : undefined;
  if (target) assertMovable(node, target);
  else if (isUid(parent ?? ''))
    throw new CodedError(`${node.path} cannot be moved`, { code: 'not_found', reason: `there is no folder ${parent}` });
  assertNoTwin(tree, node, change);
}

/** @throws CodedError `usage` (exit 2) if the target is the folder itself or inside it */
export function assertMovable(moving: FolderNode, target: FolderNode): void {
  if (target !== moving && !descendantsOf(moving).includes(target)) return;
  throw usageError(
    `${moving.path} cannot be moved into itself`,
    'choose a folder outside it',
    `${target.path} is ${target === moving ? 'the folder itself' : 'inside it'}`,
  );
}

/** @throws CodedError `already_exists` (exit 6) if the parent already has a folder of that name */
function assertNoTwin(tree: WorkspaceFolderTree, node: FolderNode, { parent, name = node.name }: FolderChange): void {
  const above = parent === undefined ? node.parent : parent === null ? undefined : tree.find(parent);
  const siblings = above ? above.children : parent ? [] : tree.roots;
  const twin = siblings.find((each) => each !== node && each.name === name);
  if (twin)
    throw new CodedError(`${twin.path} already exists`, {
      code: 'already_exists',
      remedy: ['rename_folder', twin.path],
    });
}

/** @throws CodedError `usage` (exit 2) if the name contains a slash, or is `.` or `..` */
export function assertFolderName(name: string): void {
  if (name === '.' || name === '..') throw usageError(`a folder cannot be named ${name}`, 'choose another name');
  if (name.includes('/'))
    throw usageError('a folder name cannot contain a slash', 'move the folder to change its path');
  if (name.trim() === '') throw usageError('the folder name is empty', 'choose another name');
}
