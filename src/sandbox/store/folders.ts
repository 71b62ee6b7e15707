import { randomUUID } from 'node:crypto';
import type { SandboxStore } from './sandbox-store.ts';

export type FolderRow = {
  uid: string;
  workspace_uid: string;
  name: string;
  /** Uid of the parent folder; null at the top level. */
  parent_uid: string | null;
  created_at: string;
  updated_at: string;
};

export type FolderRowTree = FolderRow & { children: FolderRowTree[] };

/** Folders of workspaces: "Folders belong to a workspace and may have a parent folder" (§2). */
export class WorkspaceFolders {
  readonly #store: SandboxStore;

  constructor(store: SandboxStore) {
    this.#store = store;
  }

  insert(workspace: string, name: string, parent: string | null, now: string): FolderRow {
    const uid = randomUUID();
    this.#store.run(
      `INSERT INTO folders (uid, workspace_uid, name, parent_uid, created_at, updated_at)
       VALUES (?, ?, ?, ?, ?, ?)`,
      ...[uid, workspace, name, parent, now, now],
    );
    return this.find(workspace, uid) as FolderRow;
  }

  find(workspace: string, uid: string): FolderRow | undefined {
    return this.#store.get('SELECT * FROM folders WHERE workspace_uid = ? AND uid = ?', workspace, uid);
  }

  /** Renames a folder, moves it, or both. */
  update(
    folder: FolderRow,
    fields: { name?: string | undefined; parent_uid?: string | null | undefined },
    now: string,
  ): void {
    const { name = folder.name, parent_uid = folder.parent_uid } = fields;
    this.#store.run(
      'UPDATE folders SET name = ?, parent_uid = ?, updated_at = ? WHERE uid = ?',
      ...[name, parent_uid, now, folder.uid],
    );
  }

  delete(uid: string): void {
    this.#store.run('DELETE FROM folders WHERE uid = ?', uid);
  }

  /** Returns true if a folder contains neither folders nor assets outside the trash. */
  isEmpty(uid: string): boolean {
    const inside = this.#store.get<{ n: number }>(
      `SELECT (SELECT count(*) FROM folders WHERE parent_uid = ?1) +
              (SELECT count(*) FROM assets WHERE parent_uid = ?1 AND deleted_at IS NULL) AS n`,
      uid,
    );
    return inside?.n === 0;
  }

  /**
   * Returns all folders of a workspace as "root folders with nested children" (§4), with siblings sorted by name.
   */
  tree(workspace: string): FolderRowTree[] {
    const rows = this.#store.all<FolderRow>(
      'SELECT * FROM folders WHERE workspace_uid = ? ORDER BY name, id',
      workspace,
    );
    const nodes = new Map(rows.map((row) => [row.uid, { ...row, children: [] as FolderRowTree[] }]));
    const roots: FolderRowTree[] = [];
    for (const node of nodes.values()) (nodes.get(node.parent_uid ?? '')?.children ?? roots).push(node);
    return roots;
  }

  /** Returns a folder with all its descendants. */
  subtree({ workspace_uid, uid }: FolderRow): FolderRowTree {
    const find = (level: FolderRowTree[]): FolderRowTree | undefined =>
      level.find((node) => node.uid === uid) ??
      level.map(({ children }) => find(children)).find((found) => found !== undefined);
    return find(this.tree(workspace_uid)) as FolderRowTree;
  }

  /** Returns the depth of a folder, which is 1 at the top level. */
  depthOf(uid: string): number {
    const found = this.#store.get<{ n: number }>(
      `WITH RECURSIVE above (uid) AS (
         VALUES (?) UNION SELECT parent_uid FROM folders JOIN above USING (uid)
           WHERE parent_uid IS NOT NULL
       ) SELECT count(*) AS n FROM above`,
      uid,
    );
    return found?.n ?? 0;
  }

  /**
   * Returns true if `uid` is `parent` or an ancestor of `parent`, so that moving the folder `uid` into `parent`
   * would create a cycle.
   */
  isSameOrAncestor(uid: string, parent: string): boolean {
    const found = this.#store.get<{ n: number }>(
      `WITH RECURSIVE above (uid) AS (
         VALUES (?) UNION SELECT parent_uid FROM folders JOIN above USING (uid)
       ) SELECT count(*) AS n FROM above WHERE uid = ?`,
      parent,
      uid,
    );
    return (found?.n ?? 0) > 0;
  }
}
