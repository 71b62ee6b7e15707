import { fieldNamesFor, type NameKey, type NameOverrides } from '../../contract/assumptions.ts';
import type { ApiFolder } from '../../contract/types.ts';
import { isSameUid, isUid } from '../../contract/uid.ts';
import { asArray, asObject, asText, normalizeName } from '../../shared/json-values.ts';
import type { Api } from '../api/api.ts';
import { parseRecord } from '../api/resource.ts';
import { unexpectedResponse } from '../http/error-response.ts';

export type FolderNode = {
  folder: ApiFolder;
  name: string;
  /** Path from the top level, such as `/Campaigns/2026`. */
  path: string;
  parent: FolderNode | undefined;
  children: FolderNode[];
};

/** Returns the values of a folder as a change of the folder sets them. The parent is a uid, or null for the top level. */
export const folderValuesOf = ({ name, parent }: FolderNode) => ({ name, parent: parent?.folder.uid ?? null });

/** Returns a path with one leading slash and no empty parts, such as `/Campaigns/2026` for `Campaigns//2026/`. */
export const normalizePath = (path: string) => `/${path.split('/').filter(Boolean).join('/')}`;

/** Maximum nesting depth, to protect the call stack. Real libraries are shallower. */
const maxFolderDepth = 500;

export const fetchFolderTree = async (api: Api, workspace: string): Promise<WorkspaceFolderTree> =>
  new WorkspaceFolderTree(await api.folders.list(workspace), api.names);

/** Parses a parent field: a uid or an object with a uid. Null is the top level, and undefined means no valid uid. */
export function parseParentUid(value: unknown): string | null | undefined {
  if (value === null) return null;
  const uid = asText(value) ?? asText(asObject(value).uid) ?? '';
  return isUid(uid) ? uid : undefined;
}

/**
 * Folder tree of a workspace ("root folders with nested children", §4). Reads the name, children and parent from
 * the field names that the service uses (assumptions A02 and A03). Field names found in the records take precedence
 * over assumed field names.
 */
export class WorkspaceFolderTree {
  readonly roots: readonly FolderNode[];
  /** All folders, parents before their children. */
  readonly all: readonly FolderNode[];
  /** Name of the field with the parent's uid (assumption A02). */
  readonly parentField: string;
  readonly #names: NameOverrides;

  constructor(folders: readonly unknown[], names: NameOverrides) {
    this.#names = names;
    const all: FolderNode[] = [];
    const addNode = (record: unknown, parent: FolderNode | undefined, depth = 0): FolderNode => {
      if (depth > maxFolderDepth)
        throw unexpectedResponse('the folders are nested too deeply', { reason: `more than ${maxFolderDepth} levels` });
      const folder = parseRecord<ApiFolder>(record);
      const name = asText(folder[this.#fieldInUse('folder_name', [folder])]) ?? folder.uid;
      const path = `${parent?.path ?? ''}/${name}`;
      const node: FolderNode = { folder, name, path, parent, children: [] };
      all.push(node);
      node.children.push(...this.#childrenOf(folder).map((child) => addNode(child, node, depth + 1)));
      return node;
    };
    this.roots = folders.map((folder) => addNode(folder, undefined));
    this.all = all;
    this.parentField = this.#findParentField();
  }

  find(uid: string): FolderNode | undefined {
    return this.all.find(({ folder }) => isSameUid(folder.uid, uid));
  }

  /** Returns the folders in a folder, given by uid, or at the top level, given as `root`. */
  childrenOf(parent: string): readonly FolderNode[] {
    return parent === 'root' ? this.roots : (this.find(parent)?.children ?? []);
  }

  /** Finds the folders at a path. Finds more than one if siblings share a name or a name contains a slash. */
  findByPath(path: string): FolderNode[] {
    const wanted = normalizePath(path);
    const exact = this.all.filter((node) => node.path === wanted);
    if (exact.length > 0) return exact;
    return this.all.filter((node) => normalizeName(node.path) === normalizeName(wanted));
  }

  /**
   * Returns the path that is meant if one that does not exist differs from existing folders in case only: `/Press/new` for
   * `/press/new`. Undefined if no folder on the way has such a name.
   */
  findOtherCase(path: string): string | undefined {
    const names = path.split('/').filter(Boolean);
    const meant: string[] = [];
    let level = this.roots;
    for (const name of names) {
      const lower = normalizeName(name).toLowerCase();
      const isExact = (node: FolderNode) => normalizeName(node.name) === normalizeName(name);
      const node = level.find(isExact) ?? level.find((each) => normalizeName(each.name).toLowerCase() === lower);
      if (!node) break;
      meant.push(node.name);
      level = node.children;
    }
    const isSame = meant.every((name, at) => normalizeName(name) === normalizeName(names[at] as string));
    return isSame ? undefined : `/${[...meant, ...names.slice(meant.length)].join('/')}`;
  }

  /** Field in which the records contain the folder's name (assumption A02). */
  get nameField(): string {
    const records = this.all.map(({ folder }) => folder);
    return this.#fieldInUse('folder_name', records);
  }

  /** Prefers a known name whose values are the uids of the parent folders. */
  #findParentField(): string {
    const nested = this.all.filter(({ parent }) => parent);
    const matching = fieldNamesFor('folder_parent', this.#names).find(
      (name) =>
        nested.length > 0 &&
        nested.every(({ folder, parent }) => isSameUid(parseParentUid(folder[name]) ?? '', parent?.folder.uid ?? '')),
    );
    const records = [...nested, ...this.all].map(({ folder }) => folder);
    return matching ?? this.#fieldInUse('folder_parent', records);
  }

  /** Returns the child folders (assumption A03). */
  #childrenOf(folder: ApiFolder): readonly unknown[] {
    return asArray(folder[this.#fieldInUse('folder_children', [folder])]);
  }

  #fieldInUse(key: NameKey, records: readonly ApiFolder[]): string {
    const names = fieldNamesFor(key, this.#names);
    const inUse = records.map((record) => names.find((name) => name in record));
    return inUse.find((name) => name !== undefined) ?? (names[0] as string);
  }
}
