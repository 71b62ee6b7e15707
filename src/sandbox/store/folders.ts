import { randomUUID } from 'node:crypto';
import { StoreTable } from './sandbox-store.ts';

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
export class WorkspaceFolders extends StoreTable {
  insert(workspace_uid: string, name: string, parent_uid: string | null, now: string): FolderRow {
    const row = { uid: randomUUID(), workspace_uid, name, parent_uid, created_at: now, updated_at: now };
    this.store.insert('folders', row);
    return row;
  }

  find(workspace: string, uid: string): FolderRow | undefined {
    return this.store.get('SELECT * FROM folders WHERE workspace_uid = ? AND uid = ?', workspace, uid);
  }

  update({ uid }: FolderRow, fields: Partial<Pick<FolderRow, 'name' | 'parent_uid'>>, now: string): void {
    this.store.update('folders', uid, { ...fields, updated_at: now });
  }

  delete(uid: string): void {
    this.store.run('DELETE FROM folders WHERE uid = ?', uid);
  }

  /** Returns true if a folder contains neither folders nor assets outside the trash. */
  isEmpty(uid: string): boolean {
    const inside = this.store.get<{ n: number }>(
      `SELECT (SELECT count(*) FROM folders WHERE parent_uid = ?1) +
              (SELECT count(*) FROM assets WHERE parent_uid = ?1 AND deleted_at IS NULL) AS n`,
      uid,
    );
    return inside?.n === 0;
  }

  /** Returns all folders of a workspace as "root folders with nested children" (§4). */
  tree(workspace: string): FolderRowTree[] {
    const nodes = this.#nodes(workspace);
    return [...nodes.values()].filter(({ parent_uid }) => !nodes.has(parent_uid ?? ''));
  }

  subtree({ workspace_uid, uid }: FolderRow): FolderRowTree {
    return this.#nodes(workspace_uid).get(uid) as FolderRowTree;
  }

  /** Returns all folders of a workspace by uid, each with its children sorted by name. */
  #nodes(workspace: string): Map<string, FolderRowTree> {
    const rows = this.store.all<FolderRow>(
      'SELECT * FROM folders WHERE workspace_uid = ? ORDER BY name, id',
      workspace,
    );
    const nodes = new Map(rows.map((row) => [row.uid, { ...row, children: [] as FolderRowTree[] }]));
    for (const node of nodes.values()) nodes.get(node.parent_uid ?? '')?.children.push(node);
    return nodes;
  }

  /** Returns the uids of a folder and of all its ancestors. */
  lineage(uid: string): string[] {
    return this.store.uids(
      `WITH RECURSIVE above (uid) AS (
         VALUES (?) UNION SELECT parent_uid FROM folders JOIN above USING (uid)
           WHERE parent_uid IS NOT NULL
       ) SELECT uid FROM above`,
      uid,
    );
  }
}
