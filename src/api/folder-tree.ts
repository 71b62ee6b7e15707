import { type NameOverrides, namesFor } from '../wire/assumptions.ts';
import type { Folder } from '../wire/types.ts';
import { identifier } from './identifier.ts';
import { unexpectedAnswer } from './unexpected-answer.ts';

/** A folder with where it stands. */
export type Placed = {
  folder: Folder;
  name: string;
  /** `/Campaigns/2026`. */
  path: string;
  parent: Placed | undefined;
  children: Placed[];
};

/** Folders in folders; no library is deeper, and a stack holds more. */
const deepest = 500;

const tooDeep = () =>
  unexpectedAnswer('the folders are nested too deep', {
    reason: `past ${deepest} levels`,
  });

/**
 * The folders of a workspace (§4: "root folders with nested children"), read under whatever names
 * this service uses for name, children and parent (A02, A03). The names seen here win over guesses.
 */
export class FolderTree {
  readonly roots: readonly Placed[];
  /** Every folder, each before those below it. */
  readonly all: readonly Placed[];
  readonly #names: NameOverrides;

  constructor(folders: readonly Folder[], names: NameOverrides) {
    this.#names = names;
    const all: Placed[] = [];
    const place = (folder: Folder, parent: Placed | undefined, depth = 0): Placed => {
      if (depth > deepest) throw tooDeep();
      identifier(folder?.uid);
      const name = String(folder[this.#seen('folder_name', folder)] ?? folder.uid);
      const path = `${parent?.path ?? ''}/${name}`;
      const placed: Placed = { folder, name, path, parent, children: [] };
      all.push(placed);
      const children = folder[this.#seen('folder_children', folder)];
      if (Array.isArray(children))
        placed.children.push(...children.map((child) => place(child, placed, depth + 1)));
      return placed;
    };
    this.roots = folders.map((folder) => place(folder, undefined));
    this.all = all;
  }

  find(uid: string): Placed | undefined {
    return this.all.find(({ folder }) => folder.uid.toLowerCase() === uid.toLowerCase());
  }

  /** Folders of that path; several where siblings share a name. */
  at(path: string): Placed[] {
    const parts = path.split('/').filter(Boolean);
    return this.all.filter((placed) => placed.path === `/${parts.join('/')}`);
  }

  /** The field that holds a folder's name, as the records here show it (A02). */
  get nameField(): string {
    return this.#seen('folder_name', ...this.all.map(({ folder }) => folder));
  }

  /** The field that holds the parent: best seen on a folder that has one (A02). */
  get parentField(): string {
    const nested = this.all.filter(({ parent }) => parent).map(({ folder }) => folder);
    return this.#seen('folder_parent', ...nested, ...this.all.map(({ folder }) => folder));
  }

  #seen(key: 'folder_name' | 'folder_parent' | 'folder_children', ...records: Folder[]): string {
    const names = namesFor(key, this.#names);
    for (const record of records) {
      const name = names.find((each) => each in record);
      if (name !== undefined) return name;
    }
    return names[0] as string;
  }
}
