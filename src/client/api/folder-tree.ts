import { fieldNamesFor, type NameKey, type NameOverrides } from '../../contract/assumptions.ts';
import { asArray, asObject, asText, normalizeName } from '../../contract/json-values.ts';
import type { ApiFolder } from '../../contract/types.ts';
import { isSameUid, isUid } from '../../contract/uid.ts';
import { unexpectedResponse } from '../http/error-response.ts';
import { parseRecord } from './resource.ts';

export type FolderNode = {
  folder: ApiFolder;
  name: string;
  /** Path from the top level, such as `/Campaigns/2026`. */
  path: string;
  parent: FolderNode | undefined;
  children: FolderNode[];
};

/** Maximum nesting depth, to protect the call stack. Real libraries are shallower. */
const maxFolderDepth = 500;

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
  /** Name of the field that has the parent's uid in every nested folder, or else a known name (assumption A02). */
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
    const wanted = `/${path.split('/').filter(Boolean).join('/')}`;
    const exact = this.all.filter((node) => node.path === wanted);
    if (exact.length > 0) return exact;
    return this.all.filter((node) => normalizeName(node.path) === normalizeName(wanted));
  }

  /** Field in which the records contain the folder's name (assumption A02). */
  get nameField(): string {
    const records = this.all.map(({ folder }) => folder);
    return this.#fieldInUse('folder_name', records);
  }

  #findParentField(): string {
    const names = fieldNamesFor('folder_parent', this.#names);
    const nested = this.all.filter(({ parent }) => parent);
    const fields = Object.keys(nested[0]?.folder ?? {}).filter((field) =>
      nested.every(({ folder, parent }) => parseParentUid(folder[field]) === parent?.folder.uid),
    );
    // Other fields might reference folders too, for example the topmost or the previous folder.
    const inferred = fields.filter((field) => fields.length === 1 || /parent/i.test(field));
    const isInferred = inferred.length === 1 && this.#names.folder_parent === undefined;
    const known = names.find((name) => fields.includes(name)) ?? (isInferred ? inferred[0] : undefined);
    const records = [...nested, ...this.all].map(({ folder }) => folder);
    return known ?? this.#fieldInUse('folder_parent', records);
  }

  /** Returns the child folders (assumption A03), from a field with a known name or the only list named like one. */
  #childrenOf(folder: ApiFolder): readonly unknown[] {
    const known = asArray(folder[this.#fieldInUse('folder_children', [folder])]);
    if (known.length > 0 || this.#names.folder_children !== undefined) return known;
    const lists = Object.keys(folder)
      .filter((field) => /child|folder|node|nested/i.test(field))
      .map((field) => asArray(folder[field]))
      .filter((list) => list.length > 0 && list.every((entry) => 'uid' in asObject(entry)));
    return lists.length === 1 ? (lists[0] as readonly unknown[]) : [];
  }

  #fieldInUse(key: NameKey, records: readonly ApiFolder[]): string {
    const names = fieldNamesFor(key, this.#names);
    const inUse = records.map((record) => names.find((name) => name in record));
    return inUse.find((name) => name !== undefined) ?? (names[0] as string);
  }
}
