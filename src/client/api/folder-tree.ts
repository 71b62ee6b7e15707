import { type NameKey, type NameOverrides, namesFor } from '../../contract/assumptions.ts';
import { fieldsIn, listIn, textIn } from '../../contract/reading.ts';
import type { Folder } from '../../contract/types.ts';
import { isSameUid, isUid } from '../../contract/uid.ts';
import { identified } from '../http/identifier.ts';
import { unexpectedAnswer } from '../http/unexpected-answer.ts';

/** A folder and its position in the tree. */
export type FolderNode = {
  folder: Folder;
  name: string;
  /** `/Campaigns/2026`. */
  path: string;
  parent: FolderNode | undefined;
  children: FolderNode[];
};

/** Maximum nesting depth, to protect the call stack. Real libraries are shallower. */
const deepest = 500;

const tooDeep = () =>
  unexpectedAnswer('the folders are nested too deep', {
    reason: `past ${deepest} levels`,
  });

/** Parses a parent field: a uid as a string or in an object, null for the top level, otherwise undefined. */
export function parentIn(value: unknown): string | null | undefined {
  if (value === null) return null;
  const uid = textIn(value) ?? textIn(fieldsIn(value).uid) ?? '';
  return isUid(uid) ? uid : undefined;
}

/**
 * Folder tree of a workspace (§4: "root folders with nested children"), read under the names that this service
 * uses for name, children and parent (A02, A03). Names seen in the records take precedence over assumed ones.
 */
export class FolderTree {
  readonly roots: readonly FolderNode[];
  /** All folders, parents before their children. */
  readonly all: readonly FolderNode[];
  /** Name of the parent field: the one that contains the parent's uid in every nested folder, else a known name (A02). */
  readonly parentField: string;
  readonly #names: NameOverrides;

  constructor(folders: readonly unknown[], names: NameOverrides) {
    this.#names = names;
    const all: FolderNode[] = [];
    const place = (sent: unknown, parent: FolderNode | undefined, depth = 0): FolderNode => {
      if (depth > deepest) throw tooDeep();
      const folder = identified<Folder>(sent);
      const name = textIn(folder[this.#seen('folder_name', [folder])]) ?? folder.uid;
      const path = `${parent?.path ?? ''}/${name}`;
      const placed: FolderNode = { folder, name, path, parent, children: [] };
      all.push(placed);
      placed.children.push(
        ...this.#childrenOf(folder).map((child) => place(child, placed, depth + 1)),
      );
      return placed;
    };
    this.roots = folders.map((folder) => place(folder, undefined));
    this.all = all;
    this.parentField = this.#findParentField();
  }

  find(uid: string): FolderNode | undefined {
    return this.all.find(({ folder }) => isSameUid(folder.uid, uid));
  }

  /** Finds folders by path. Returns several if siblings share a name or a name contains a slash. */
  at(path: string): FolderNode[] {
    const parts = path.split('/').filter(Boolean);
    return this.all.filter((placed) => placed.path === `/${parts.join('/')}`);
  }

  /** Name of the name field, as the records show it (A02). */
  get nameField(): string {
    return this.#seen(
      'folder_name',
      this.all.map(({ folder }) => folder),
    );
  }

  #findParentField(): string {
    const names = namesFor('folder_parent', this.#names);
    const nested = this.all.filter(({ parent }) => parent);
    const fields = Object.keys(nested[0]?.folder ?? {}).filter((field) =>
      nested.every(({ folder, parent }) => parentIn(folder[field]) === parent?.folder.uid),
    );
    // Other fields may reference folders too, for example the topmost or the previous one.
    const learned = fields.filter((field) => fields.length === 1 || /parent/i.test(field));
    const isLearned = learned.length === 1 && this.#names.folder_parent === undefined;
    const known =
      names.find((name) => fields.includes(name)) ?? (isLearned ? learned[0] : undefined);
    const records = [...nested, ...this.all].map(({ folder }) => folder);
    return known ?? this.#seen('folder_parent', records);
  }

  /** Returns the child records (A03): under a known name, else the only list whose name suggests child folders. */
  #childrenOf(folder: Folder): readonly unknown[] {
    const known = listIn(folder[this.#seen('folder_children', [folder])]);
    if (known.length > 0 || this.#names.folder_children !== undefined) return known;
    const lists = Object.keys(folder)
      .filter((field) => /child|folder|node|nested/i.test(field))
      .map((field) => listIn(folder[field]))
      .filter((list) => list.length > 0 && list.every((entry) => 'uid' in fieldsIn(entry)));
    return lists.length === 1 ? (lists[0] as readonly unknown[]) : [];
  }

  #seen(key: NameKey, records: readonly Folder[]): string {
    const names = namesFor(key, this.#names);
    for (const record of records) {
      const name = names.find((each) => each in record);
      if (name !== undefined) return name;
    }
    return names[0] as string;
  }
}
