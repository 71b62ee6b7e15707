import type { FolderNode, FolderTree } from '../api/folder-tree.ts';
import type { Context } from '../context.ts';
import { exitCodes, MediactlError, usageError } from '../errors.ts';
import { isUid } from '../wire/uid.ts';
import { folderUid, isRoot, readTree } from './folders.ts';

/** The names in a path, from the top. @throws MediactlError exit 2 where there is none */
export function namesInPath(path: string): string[] {
  const names = path.split('/').filter(Boolean);
  if (names.length === 0) throw usageError(`no folder to create in '${path}'`, '/Campaigns/2026');
  return names;
}

/**
 * Creates what is missing of a path, from the top. The service lets two folders have one name, so
 * commands of this machine take turns: the second one finds what the first one made.
 *
 * @throws MediactlError `not_found` (3), `exists` (6): see `missingFolders`
 */
export const createPath = (context: Context, names: readonly string[], withParents: boolean) =>
  context.exclusively('folders', async (): Promise<{ node: FolderNode; tree: FolderTree }> => {
    const { folders } = await context.api();
    let { tree, workspace } = await readTree(context);
    const { missing, above } = missingFolders(tree, names, withParents);
    let at = above;
    for (const name of missing) {
      const parent = at?.folder.uid ?? null;
      // The tree after a write shows the names to write next.
      ({ placed: at, tree } = await folders.create(workspace, tree, { name, parent }));
    }
    return { node: at as FolderNode, tree };
  });

/**
 * How far a path leads, and which names are missing of it. Without `withParents` what is above must be
 * there, and the folder itself must not.
 *
 * @throws MediactlError `not_found` (3), `exists` (6); exit 2 where two folders are at one path
 */
export function missingFolders(tree: FolderTree, names: readonly string[], withParents: boolean) {
  const { missing, above } = walked(tree, names);
  if (!withParents) {
    if (missing.length === 0) throw alreadyThere(names, above as FolderNode);
    if (missing.length > 1) throw noParent(names);
  }
  return { missing, above };
}

function walked(tree: FolderTree, names: readonly string[]) {
  let above: FolderNode | undefined;
  for (const [n, name] of names.entries()) {
    const level = above ? above.children : tree.roots;
    const named = level.filter((placed) => placed.name === name);
    if (named.length > 1)
      throw usageError(
        `${named.length} folders are at /${names.slice(0, n + 1).join('/')}`,
        'rename or remove one of them: mediactl folders rename UID NAME',
        named.map(({ folder }) => folder.uid).join(', '),
      );
    if (named.length === 0) return { missing: names.slice(n), above };
    [above] = named;
  }
  return { missing: [], above };
}

const noParent = (names: readonly string[]) =>
  new MediactlError(`no folder /${names.slice(0, -1).join('/')}`, {
    code: 'not_found',
    exitCode: exitCodes.notFound,
    hint: `mediactl folders create -p /${names.join('/')}`,
  });

const alreadyThere = (names: readonly string[], { folder }: FolderNode) =>
  new MediactlError(`/${names.join('/')} is there already`, {
    code: 'exists',
    exitCode: exitCodes.rejected,
    reason: `its uid is ${folder.uid}`,
    hint: 'with -p that is no error',
  });

/**
 * Tells the folder's uid for what is below it on disk. Without --create-folders all go into the one
 * that was named, which must be there; with it, folders are made like the directories, each once. The
 * tree is read once; again only where a folder is missing.
 */
export async function targetFolders(context: Context, wanted: string, create: boolean) {
  if (!create) {
    const uid = isRoot(wanted) ? undefined : await folderUid(context, wanted);
    return async () => uid;
  }
  if (isUid(wanted)) throw usageError('--create-folders takes a path', '--folder /Campaigns/2026');
  const top = isRoot(wanted) ? [] : wanted.split('/');
  let { tree } = await readTree(context);
  return async (below: string) => {
    const names = [...top, ...below.split('/')].filter(Boolean);
    if (names.length === 0) return undefined;
    const { missing, above } = missingFolders(tree, names, true);
    if (missing.length === 0) return above?.folder.uid;
    if (context.settings.dryRun) return `(uid of /${names.join('/')})`;
    const made = await createPath(context, names, true);
    tree = made.tree;
    return made.node.folder.uid;
  };
}
