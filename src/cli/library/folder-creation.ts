import type { FolderNode, FolderTree } from '../../client/api/folder-tree.ts';
import { asMediactlError, exitCodes, MediactlError, usageError } from '../../client/errors.ts';
import { comparableName } from '../../contract/reading.ts';
import type { Context } from '../context.ts';
import { readTree } from './folders.ts';
import { keptFolders } from './kept-names.ts';
import { workspaceUid } from './workspaces.ts';

/** Splits a folder path into names. @throws MediactlError exit 2 if it has none */
export function namesInPath(path: string): string[] {
  const names = path.split('/').filter(Boolean);
  if (names.length === 0) throw usageError(`no folder to create in '${path}'`, '/Campaigns/2026');
  return names;
}

/**
 * Creates the missing folders of a path. The service allows duplicate names, so a mutex across the processes of
 * this machine prevents races.
 *
 * @throws MediactlError `not_found` (3), `exists` (6): see `findMissingFolders`
 */
export const createPath = (context: Context, names: readonly string[], withParents: boolean) =>
  context.exclusively('folders', async (): Promise<{ node: FolderNode; tree: FolderTree }> => {
    const { folders } = await context.api();
    let { tree, workspace } = await readTree(context);
    const { missing, above } = missingFolders(tree, names, withParents);
    let at = above;
    for (const name of missing) {
      const parent = at?.folder.uid ?? null;
      // The tree after a write shows the field names to use for the next one.
      ({ placed: at, tree } = await folders.create(workspace, tree, { name, parent }));
    }
    if (missing.length > 0) await keptFolders(context).forget();
    return { node: at as FolderNode, tree };
  });

/**
 * Returns the deepest existing folder of a path and the missing names below it. Without `withParents` the parent
 * must exist, and the folder itself must not.
 *
 * @throws MediactlError `not_found` (3), `exists` (6); exit 2 if two folders share one path
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
    const exact = level.filter((placed) => placed.name === name);
    const named =
      exact.length > 0
        ? exact
        : level.filter((placed) => comparableName(placed.name) === comparableName(name));
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

/** Folders that other processes of this machine created since the tree was read. */
export type MadeFolders = {
  find(path: string): string | undefined;
  keep(path: string, uid: string): Promise<void>;
};

/** Resolves folders of the workspace by path. */
export type FoldersByPath = {
  /** Returns a folder's uid; undefined for the top level, null if it does not exist. */
  find(path: string): string | undefined | null;
  /** Returns a folder's uid; creates missing folders. */
  make(path: string): Promise<string | undefined>;
  /** Returns the path of a folder; undefined if it does not exist. */
  pathOf(uid: string): string | undefined;
};

const triesPerFolder = 3;

/** Retries after a lost response, and while another process holds the lock during a rate limit. */
async function patiently<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++)
    try {
      return await work();
    } catch (error) {
      const failure = asMediactlError(error);
      const { exitCode, explanation } = failure;
      if (explanation.code === 'locked') tries--;
      // Ends the run: every other folder would be misplaced too.
      else if (explanation.code === 'write_ignored') throw failure.with({ endsRun: true });
      else if (exitCode !== exitCodes.unreachable || tries >= triesPerFolder) throw error;
    }
}

/**
 * Resolves and creates folders for many files. Reads the tree once and creates missing folders once, on demand.
 * Verifies the first creation at the top level and the first inside a folder: if one is misplaced, the run ends.
 */
export async function foldersByPath(
  context: Context,
  madeSince: (workspace: string) => MadeFolders | undefined,
): Promise<FoldersByPath> {
  const { folders } = (await context.api()).observed({ lane: 'bulk' });
  const workspace = await workspaceUid(context);
  // Before the tree is read: it may miss folders that other processes create from now on.
  const others = madeSince(workspace);
  const before = await folders.tree(workspace);
  const made = new Map<string, string>();
  let shown = before;
  /** False after a creation without a response: the tree is then refetched. */
  let isCertain = true;
  const isChecked = { top: false, inside: false };
  const uidAt = (names: readonly string[]): string | undefined => {
    const path = `/${names.join('/')}`;
    const known = made.get(path);
    if (known !== undefined) return known;
    const { missing, above } = walked(shown, names);
    return missing.length === 0 ? above?.folder.uid : others?.find(path);
  };
  const create = async (names: readonly string[], parent: string | null): Promise<string> => {
    if (!isCertain) shown = await folders.tree(workspace);
    isCertain = true;
    const existing = uidAt(names);
    if (existing !== undefined) return existing;
    const change = { name: names.at(-1) as string, parent };
    isCertain = false;
    const kind = parent === null ? 'top' : 'inside';
    const { uid, tree } = await folders.create(workspace, shown, change, isChecked[kind]);
    shown = tree;
    isChecked[kind] = true;
    if (made.size === 0) await keptFolders(context).forget();
    isCertain = true;
    const path = `/${names.join('/')}`;
    made.set(path, uid);
    await others?.keep(path, uid);
    return uid;
  };
  /** Serializes creations in this process; the lock `folders` does so across processes. */
  let turn: Promise<unknown> = Promise.resolve();
  const make = async (names: readonly string[]): Promise<string> => {
    const parent = names.length > 1 ? await there(names.slice(0, -1)) : null;
    const mine = turn.then(() =>
      patiently(() => context.exclusively('folders', () => create(names, parent))),
    );
    // A misplaced folder blocks all further creations.
    turn = mine.catch((error) => {
      if (asMediactlError(error).explanation.endsRun) throw error;
    });
    turn.catch(() => {});
    return mine;
  };
  /** Creations in flight by path: dedupes concurrent requests for the same folder. */
  const underWay = new Map<string, Promise<string>>();
  const there = async (names: readonly string[]): Promise<string> => {
    const uid = uidAt(names);
    if (uid !== undefined) return uid;
    const path = names.join('/');
    const making = underWay.get(path) ?? make(names).finally(() => underWay.delete(path));
    underWay.set(path, making);
    return making;
  };
  const namesIn = (path: string) => path.split('/').filter(Boolean);
  return {
    find: (path) => {
      const names = namesIn(path);
      return names.length === 0 ? undefined : (uidAt(names) ?? null);
    },
    make: async (path) => {
      const names = namesIn(path);
      return names.length === 0 ? undefined : there(names);
    },
    pathOf: (uid) => shown.find(uid)?.path,
  };
}
