import { normalizeName } from '../../shared/json-values.ts';
import type { Api } from '../api/api.ts';
import type { FoldersApi } from '../api/folders.ts';
import { asCodedError, CodedError, usageError } from '../errors.ts';
import type { FolderNode, WorkspaceFolderTree } from '../library/folder-tree.ts';
import { fetchFolderTree } from '../library/folder-tree.ts';
import type { Library } from '../library/library.ts';
import { isRootPath } from '../library/library-paths.ts';
import type { Receipts } from '../upload/store/receipts.ts';
import { createFolder } from './folder-writes.ts';
import { creationLock, lookAndWrite } from './look-and-write.ts';

/** @throws CodedError `usage` (exit 2) for `.` and `..`, which would be names of folders */
function namesIn(path: string): string[] {
  const names = path.split('/').filter(Boolean);
  if (names.some((name) => name === '.' || name === '..'))
    throw usageError(
      `a folder path cannot contain . or ..: ${path}`,
      'give the path from the top level: /Campaigns/2026',
    );
  return names;
}

/** Splits a folder path into folder names. @throws CodedError `usage` (exit 2) if the path contains no name */
export function parseFolderPath(path: string): string[] {
  const names = namesIn(path);
  if (names.length === 0) throw usageError(`no folder to create in '${path}'`, '/Campaigns/2026');
  return names;
}

/**
 * Creates the missing folders of a path. The service allows duplicate names, so a mutex prevents other processes on
 * this machine from creating the same folder at the same time.
 *
 * @param onRead called with the folders before the first is created
 * @throws the same errors as `findMissingFolders`
 */
export async function createFolderPath(
  library: Library,
  names: readonly string[],
  withParents: boolean,
  onRead: (tree: WorkspaceFolderTree) => void = () => {},
): Promise<{ node: FolderNode; tree: WorkspaceFolderTree }> {
  const workspace = await library.workspace(); // may ask the user, so no lock is held yet
  let createdCount = 0;
  const created = await lookAndWrite(library, creationLock, async (api) => {
    let tree = await fetchFolderTree(api, workspace);
    onRead(tree);
    const { missing, above } = findMissingFolders(tree, names, withParents);
    let at = above;
    for (const name of missing) {
      const parent = at?.folder.uid ?? null;
      // The tree after this write shows which field names to use for the next write.
      ({ node: at, tree } = await createFolder(api, workspace, tree, { name, parent }));
      createdCount++;
    }
    return { node: at as FolderNode, tree };
  });
  if (createdCount > 0) await library.foldersChanged(createdCount);
  return created;
}

/**
 * Returns the deepest existing folder of a path and the missing names below it. Without `withParents`, the parent
 * must exist, and the folder itself must not exist.
 *
 * @throws CodedError `not_found` (exit 3) if the parent is missing, `already_exists` (exit 6) if the folder exists,
 *   `usage` (exit 2) if two folders have the same path
 */
function findMissingFolders(tree: WorkspaceFolderTree, names: readonly string[], withParents: boolean) {
  const { missing, above } = walkPath(tree, names);
  if (!withParents && missing.length === 0)
    throw new CodedError(`/${names.join('/')} already exists`, {
      code: 'already_exists',
      reason: `its uid is ${above?.folder.uid}`,
    });
  if (!withParents && missing.length > 1)
    throw new CodedError(`folder /${names.slice(0, -1).join('/')} does not exist`, {
      code: 'not_found',
      remedy: ['create_parents', `/${names.join('/')}`],
    });
  return { missing, above };
}

/** Returns the requests that create the missing folders of a path. @throws the same errors as `findMissingFolders` */
export function createFolderRequests(
  folders: FoldersApi,
  { tree, workspace }: { tree: WorkspaceFolderTree; workspace: string },
  names: readonly string[],
  withParents: boolean,
) {
  const { missing, above } = findMissingFolders(tree, names, withParents);
  return missing.map((name, n) => {
    const parent = n === 0 ? (above?.folder.uid ?? null) : `(uid of ${missing[n - 1]})`;
    return folders.createRequest(workspace, tree, { name, parent });
  });
}

function walkPath(tree: WorkspaceFolderTree, names: readonly string[]) {
  let above: FolderNode | undefined;
  for (const [n, name] of names.entries()) {
    const level = above ? above.children : tree.roots;
    const exact = level.filter((placed) => placed.name === name);
    const named =
      exact.length > 0 ? exact : level.filter((placed) => normalizeName(placed.name) === normalizeName(name));
    if (named.length > 1)
      throw usageError(
        `${named.length} folders are at /${names.slice(0, n + 1).join('/')}`,
        'rename one of them',
        named.map(({ folder }) => folder.uid).join(', '),
      );
    if (named.length === 0) return { missing: names.slice(n), above };
    [above] = named;
  }
  return { missing: [], above };
}

/** Returns the uid of the folder at a path; undefined for the top level, null if it does not exist. */
export function findFolderUid(tree: WorkspaceFolderTree, path: string): string | undefined | null {
  const { missing, above } = walkPath(tree, namesIn(path));
  return missing.length === 0 ? above?.folder.uid : null;
}

export type FolderPathResolver = {
  /** Returns a folder's uid; undefined for the top level, null if the folder does not exist. */
  find(path: string): string | undefined | null;
  make(path: string): Promise<string | undefined>;
  pathOf(uid: string): string | undefined;
  /** Fetches the folders again before the next one is created. */
  invalidate(): void;
  /**
   * Takes over the folders of the library, since some were renamed, moved or deleted.
   *
   * @returns the present path of the folder that was at a path; undefined if it is gone
   */
  refresh(path: string): Promise<string | undefined>;
};

const maxAttemptsPerFolder = 3;

/** Runs `work` up to three times if the service is unreachable, not counting waits for another process's lock. */
async function retryCreation<T>(work: () => Promise<T>): Promise<T> {
  for (let attempts = 1; ; attempts++)
    try {
      return await work();
    } catch (error) {
      const failure = asCodedError(error);
      const { kind, explanation } = failure;
      if (explanation.code === 'locked') attempts--;
      // This error ends the run, since every other folder would be misplaced too.
      else if (explanation.code === 'write_ignored') throw failure.with({ endsRun: true });
      else if (kind !== 'unreachable' || attempts >= maxAttemptsPerFolder) throw error;
    }
}

/** Reads the folder tree, and creates folders in it. Verifies the first at the top level and the first inside. */
async function openFolderTree(library: Library, receipts: Receipts | undefined) {
  const workspace = await library.workspace();
  const { origin } = library.api.transport.baseUrl;
  // Read before the tree, since the tree might lack folders that this machine creates from now on.
  let mark = (await receipts?.folderMark()) ?? 0;
  let { tree } = await library.folders({ isFresh: true });
  /** False after a creation without a response, so that the tree is fetched again. */
  let isTreeCurrent = true;
  const created = new Map<string, string>();
  const verified = { top: false, inside: false };
  const uidAt = (names: readonly string[]): string | undefined => {
    const path = `/${names.join('/')}`;
    const known = created.get(path);
    if (known !== undefined) return known;
    const { missing, above } = walkPath(tree, names);
    return missing.length === 0 ? above?.folder.uid : undefined;
  };
  /** Returns the uid of a folder that exists or that another process on this machine has created meanwhile. */
  const lookUp = async (names: readonly string[]): Promise<string | undefined> => {
    const path = `/${names.join('/')}`;
    const uid = uidAt(names) ?? (await receipts?.findCreatedFolder(origin, workspace, path, mark));
    if (uid !== undefined) created.set(path, uid);
    return uid;
  };
  const create = async (names: readonly string[], api: Api): Promise<void> => {
    if (!isTreeCurrent) tree = await fetchFolderTree(api, workspace);
    isTreeCurrent = true;
    if ((await lookUp(names)) !== undefined) return;
    const parent = names.length > 1 ? (uidAt(names.slice(0, -1)) as string) : null;
    const kind = parent === null ? 'top' : 'inside';
    isTreeCurrent = false;
    const change = { name: names.at(-1) as string, parent };
    const made = await createFolder(api, workspace, tree, change, verified[kind]);
    tree = made.tree;
    isTreeCurrent = true;
    verified[kind] = true;
    await library.foldersChanged(1);
    const path = `/${names.join('/')}`;
    created.set(path, made.uid);
    await receipts?.saveFolder(origin, workspace, path, made.uid);
  };
  const invalidate = () => {
    isTreeCurrent = false;
  };
  const refresh = async () => {
    // Folders that were created before may be gone. The tree is read again before the next one is created.
    mark = (await receipts?.folderMark()) ?? 0;
    ({ tree } = await library.folders());
    isTreeCurrent = false;
    created.clear();
  };
  return { uidAt, lookUp, create, invalidate, refresh, pathOf: (uid: string) => tree.find(uid)?.path };
}

/**
 * Creates a resolver for the folders of many files, which creates each missing folder once, when a file needs it.
 *
 * @param receipts show the folders that other processes on this machine create meanwhile
 */
export async function createFolderPathResolver(
  library: Library,
  receipts: Receipts | undefined,
): Promise<FolderPathResolver> {
  const { uidAt, lookUp, create, invalidate, refresh, pathOf } = await openFolderTree(library, receipts);
  /** Last creation in this process, which the next one waits for. The lock `folders` serializes processes. */
  let lastCreation: Promise<unknown> = Promise.resolve();
  const createOne = (path: readonly string[]) =>
    lookAndWrite(library, creationLock, (api) => create(path, api.withObserver({ lane: 'bulk' })));
  const createInTurn = (names: readonly string[]): Promise<string> => {
    const mine = lastCreation.then(async () => {
      for (let depth = 1; depth <= names.length; depth++) {
        const path = names.slice(0, depth);
        if ((await lookUp(path)) === undefined) await retryCreation(() => createOne(path));
      }
      return uidAt(names) as string;
    });
    // After a misplaced folder, all further creations fail with the same error.
    lastCreation = mine.catch((error) => {
      if (asCodedError(error).explanation.endsRun) throw error;
    });
    lastCreation.catch(() => {});
    return mine;
  };
  return {
    find: (path) => {
      const names = namesIn(path);
      return names.length === 0 ? undefined : (uidAt(names) ?? null);
    },
    make: async (path) => {
      const names = namesIn(path);
      return names.length === 0 ? undefined : (uidAt(names) ?? createInTurn(names));
    },
    pathOf,
    invalidate,
    refresh: async (path) => {
      const uid = uidAt(namesIn(path));
      await refresh();
      return isRootPath(path) || uidAt(namesIn(path)) !== undefined ? path : uid && pathOf(uid);
    },
  };
}
