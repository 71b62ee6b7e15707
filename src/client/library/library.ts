import type { Api } from '../api/api.ts';
import { fetchFolderTree, type WorkspaceFolderTree } from './folder-tree.ts';
import type { WorkspaceInUse } from './workspace-in-use.ts';

/** The folders of a workspace. */
export type FetchedTree = { workspace: string; tree: WorkspaceFolderTree };

export type LibraryDeps = {
  api: Api;
  /** Ends the command or the call. */
  signal: AbortSignal;
  workspaceInUse: WorkspaceInUse;
  /** Runs `work` while no other process on this machine changes folders, since the service allows duplicate names. */
  withLock<T>(work: () => Promise<T>): Promise<T>;
  /** Drops what is cached of the folders outside of this process. @param createdCount number of folders created */
  onFoldersChanged(createdCount: number): Promise<void>;
};

/** A library as one command or call sees it: the service, the workspace in use, and its folders. */
export class Library {
  readonly api: Api;
  readonly signal: AbortSignal;
  readonly workspaceInUse: WorkspaceInUse;
  readonly withLock: LibraryDeps['withLock'];
  readonly #onFoldersChanged: LibraryDeps['onFoldersChanged'];
  #folders: Promise<FetchedTree> | undefined;

  constructor(deps: LibraryDeps) {
    this.api = deps.api;
    this.signal = deps.signal;
    this.workspaceInUse = deps.workspaceInUse;
    this.withLock = deps.withLock;
    this.#onFoldersChanged = deps.onFoldersChanged;
  }

  /** Returns the uid of the workspace in use. */
  workspace(mayAsk = true): Promise<string> {
    return this.workspaceInUse.uid(mayAsk);
  }

  /** Returns the folders of the workspace in use, fetched once unless `isFresh` or a folder was changed. */
  folders({ mayAsk = true, isFresh = false } = {}): Promise<FetchedTree> {
    if (this.#folders && !isFresh) return this.#folders;
    const fetched = this.workspace(mayAsk).then(async (workspace) => ({
      workspace,
      tree: await fetchFolderTree(this.api, workspace),
    }));
    this.#folders = fetched;
    fetched.catch(() => {
      if (this.#folders === fetched) this.#folders = undefined;
    });
    return fetched;
  }

  /** Drops the folders that were fetched, and those that are cached elsewhere. @param now folders after the change, if known */
  async foldersChanged(createdCount = 0, now?: FetchedTree): Promise<void> {
    this.#folders = now && Promise.resolve(now);
    await this.#onFoldersChanged(createdCount);
  }
}
