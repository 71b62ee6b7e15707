import { posix } from 'node:path';
import type { AssetRecord } from '../../../contract/types.ts';
import { isSameUid, normalizeUid } from '../../../contract/uid.ts';
import { normalizeName } from '../../../shared/json-values.ts';
import { FolderReader, isListRefused } from '../../library/folder-reader.ts';
import type { FolderNode, WorkspaceFolderTree } from '../../library/folder-tree.ts';
import { descendantsOf } from '../../library/library-paths.ts';
import { fileAt } from '../sources/upload-file.ts';
import type { FolderMove } from './decision.ts';
import type { MatcherDeps } from './matcher.ts';

/**
 * A file that was moved to another directory. Both are relative to the mirrored directory, with slashes, and empty for
 * that directory itself.
 */
export type MovedFile = { assetUid: string; oldDir: string; newDir: string };

/** A folder change, from one directory to another, after the changes before it. */
type PlannedMove = { from: string; to: string; change: FolderMove };

/** Old and new path of a directory that may have been renamed, and the number of files that suggest it. */
type DirectoryPair = { from: string; to: string; count: number };

/** Plans changes of folders whose directories were renamed or moved with all that is in them. Changes nothing. */
export class FolderPlan {
  readonly #deps: MatcherDeps;
  /** Files by the uids of their assets. */
  readonly #files: ReadonlyMap<string, MovedFile>;
  /** Returns the directory of an asset's old version, relative to the mirrored one; undefined if it is none. */
  readonly #replacedDirOf: (assetUid: string) => Promise<string | undefined>;
  readonly #moves: PlannedMove[] = [];
  /** Uids of the assets in each listed folder; undefined if it cannot be listed. */
  readonly #listed = new Map<string, Promise<readonly string[] | undefined>>();
  readonly #inMovedFolders = new Set<string>();
  #tree: WorkspaceFolderTree | undefined;
  readonly #reader: FolderReader;
  /** True once a folder could not be listed. */
  #isRefused = false;

  constructor(
    files: readonly MovedFile[],
    deps: MatcherDeps,
    replacedDirOf: (assetUid: string) => Promise<string | undefined>,
  ) {
    this.#deps = deps;
    this.#files = new Map(files.map((file) => [normalizeUid(file.assetUid), file]));
    this.#replacedDirOf = replacedDirOf;
    this.#reader = new FolderReader(deps.api, async () => this.#tree as WorkspaceFolderTree);
  }

  /** Plans the changes. Takes a request for 100 assets of each folder, and of those below it. */
  async plan(): Promise<void> {
    const { comparison } = this.#deps;
    let pairs = pairsOf([...this.#files.values()]);
    if (pairs.length === 0) return;
    this.#tree = (await comparison.library.folders()).tree;
    // A directory may have the old path of another one, whose folder is moved first.
    for (let isDone = false; !isDone; ) {
      const left: DirectoryPair[] = [];
      for (const pair of pairs) {
        this.#deps.signal.throwIfAborted();
        if (!(await this.#tryMove(pair))) left.push(pair);
      }
      isDone = left.length === pairs.length || this.#isRefused;
      pairs = left;
    }
  }

  /** Returns the folder of a directory after the changes: its uid, undefined for the top level, null if there is none. */
  uidAt(directory: string): string | undefined | null {
    let at = directory;
    for (const { from, to } of this.#moves.toReversed()) {
      const inside = pathWithin(at, to);
      if (inside === undefined && pathWithin(at, from) !== undefined) return null;
      if (inside !== undefined) at = posix.join(from, inside);
    }
    return this.#deps.folders.find(fileAt('', at));
  }

  /** Returns the changes that take an asset along; `left_behind` if it is no longer in a folder that is changed. */
  movesOf({ assetUid, oldDir }: Pick<MovedFile, 'assetUid' | 'oldDir'>): readonly FolderMove[] | 'left_behind' {
    const { changes } = this.#follow(oldDir);
    return changes.length === 0 || this.#inMovedFolders.has(normalizeUid(assetUid)) ? changes : 'left_behind';
  }

  /** Returns where the folder of an old directory is after the changes so far, and the changes that move it. */
  #follow(oldDir: string): { place: string; changes: FolderMove[] } {
    let place = oldDir;
    const changes: FolderMove[] = [];
    for (const { from, to, change } of this.#moves) {
      const inside = pathWithin(place, from);
      if (inside === undefined) continue;
      place = posix.join(to, inside);
      changes.push(change);
    }
    return { place, changes };
  }

  /** Plans the change of one folder if its directory was renamed as a whole. */
  async #tryMove({ from: oldDir, to }: DirectoryPair): Promise<boolean> {
    const uid = this.#deps.folders.find(fileAt('', oldDir));
    const node = typeof uid === 'string' ? this.#tree?.find(uid) : undefined;
    const { place: from } = this.#follow(oldDir);
    const isMoved = ({ change }: PlannedMove) => isSameUid(change.uid, uid ?? '');
    if (!node || this.#isRefused || this.#moves.some(isMoved)) return false;
    if (pathWithin(to, from) !== undefined || this.uidAt(to) !== null || this.#isCreated(to)) return false;
    const parent = this.#findParent(to);
    if (!parent || !(await this.#movesAsWhole(node, oldDir, to))) return false;
    const name = posix.basename(to);
    const now = node.parent?.folder.uid ?? null;
    const hasParent = parent.uid !== undefined && isSameUid(parent.uid ?? '', now ?? '');
    const change: FolderMove = {
      order: this.#moves.length,
      uid: node.folder.uid,
      ...(normalizeName(name) !== normalizeName(node.name) && { name }),
      ...(!hasParent && { parent: parent.uid, newParentDir: parent.newDir }),
    };
    this.#moves.push({ from, to, change });
    return true;
  }

  /** Returns true if an earlier change creates a folder there, to put another one into it. */
  #isCreated(directory: string): boolean {
    return this.#moves.some(({ change: { newParentDir } }) => {
      return newParentDir !== undefined && pathWithin(newParentDir, directory) !== undefined;
    });
  }

  /**
   * Returns the parent of a new folder: its uid, null for the top level, or its directory if it does not exist yet.
   * Undefined if it would have to be created among folders that are moved.
   */
  #findParent(directory: string): { uid?: string | null; newDir?: string } | undefined {
    const newDir = directoryAbove(directory);
    const uid = this.uidAt(newDir);
    if (uid !== null) return { uid: uid ?? null };
    // An earlier change into the same new directory creates it, too.
    const isNear = ({ from, to }: PlannedMove) =>
      [from, to].some((path) => pathWithin(newDir, path) !== undefined) || pathWithin(from, newDir) !== undefined;
    return this.#moves.some(isNear) ? undefined : { newDir };
  }

  /**
   * Returns true if all that a folder and the folders below it show came from the old directory and moves to the new one:
   * each asset is that of a file that moves along, or an old version from there.
   */
  async #movesAsWhole(node: FolderNode, oldDir: string, newDir: string): Promise<boolean> {
    const moved = new Set(this.#moves.map(({ change }) => normalizeUid(change.uid)));
    const stays = (each: FolderNode) => !moved.has(normalizeUid(each.folder.uid));
    const found: string[] = [];
    for (const each of [node, ...descendantsOf(node)].filter(stays)) {
      const directory = posix.join(oldDir, each.path.slice(node.path.length));
      const uids = await this.#list(each);
      // Nothing shows where an empty folder comes from.
      if (!uids || (uids.length === 0 && each.children.length === 0)) return false;
      for (const uid of uids) {
        const file = this.#files.get(normalizeUid(uid));
        const dir = file?.oldDir ?? (await this.#replacedDirOf(uid));
        if (dir === undefined || !isSamePath(dir, directory)) return false;
        if (file && pathWithin(file.newDir, newDir) === undefined) return false;
      }
      found.push(...uids);
    }
    for (const uid of found) this.#inMovedFolders.add(normalizeUid(uid));
    return true;
  }

  #list(node: FolderNode): Promise<readonly string[] | undefined> {
    const { uid } = node.folder;
    const listing = this.#listed.get(uid) ?? this.#fetchList(node);
    this.#listed.set(uid, listing);
    return listing;
  }

  async #fetchList({ folder: { uid: parent } }: FolderNode): Promise<readonly string[] | undefined> {
    const found: AssetRecord[] = [];
    try {
      for await (const page of this.#reader.list({ parent }, {})) found.push(...page);
      return (await this.#reader.directly(parent, found, { isChange: true })).map(({ uid }) => uid);
    } catch (thrown) {
      if (!isListRefused(thrown)) throw thrown;
      this.#isRefused = true;
      return undefined;
    }
  }
}

const directoryAbove = (directory: string) => {
  const above = posix.dirname(directory);
  return above === '.' ? '' : above;
};

/** Returns the rest of a path within a directory, empty for itself; undefined if it is not in it. */
function pathWithin(path: string, directory: string): string | undefined {
  const [names, above] = [path, directory].map((each) => each.split('/').filter(Boolean)) as [string[], string[]];
  const isInside = above.every((name, at) => normalizeName(names[at] ?? '') === normalizeName(name));
  return isInside ? names.slice(above.length).join('/') : undefined;
}

const isSamePath = (one: string, other: string) => pathWithin(one, other) === '';

/**
 * Returns the directories that may have been renamed, the highest first, and of the same directory the one to which most
 * files have moved. A file that went from `a/day 1/raw` to `a/day one/raw` suggests that `a/day 1` is now `a/day one`, or
 * else that `a/day 1/raw` is now `a/day one/raw`.
 */
function pairsOf(files: readonly MovedFile[]): DirectoryPair[] {
  const pairs = new Map<string, DirectoryPair>();
  for (const { oldDir, newDir } of files) {
    if (isSamePath(oldDir, newDir)) continue;
    for (let [from, to, isEqual] = [oldDir, newDir, true]; isEqual && from !== '' && to !== ''; ) {
      const key = JSON.stringify([from, to]);
      const pair = pairs.get(key) ?? { from, to, count: 0 };
      pairs.set(key, { ...pair, count: pair.count + 1 });
      isEqual = normalizeName(posix.basename(from)) === normalizeName(posix.basename(to));
      [from, to] = [directoryAbove(from), directoryAbove(to)];
    }
  }
  const depthOf = ({ from }: DirectoryPair) => from.split('/').length;
  return [...pairs.values()].sort((one, other) => depthOf(one) - depthOf(other) || other.count - one.count);
}
