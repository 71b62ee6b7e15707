import { startAge } from '../../shared/clock.ts';
import type { Api } from '../api/api.ts';
import { FolderReader } from './folder-reader.ts';
import { fetchFolderTree, type WorkspaceFolderTree } from './folder-tree.ts';
import type { WorkspaceInUse } from './workspace-in-use.ts';

export type FetchedTree = {
  workspace: string;
  tree: WorkspaceFolderTree;
  /** Returns how long ago it was fetched, in ms. */
  ageMs: () => number;
};

/** A mutex that all processes with one state folder share. */
export type TurnRequest = {
  name: string;
  /** Resource to protect, if several resources share the mutex. Turns of this process for the others do not count as waits. */
  subject?: string;
  /** Time after which it counts as busy. */
  waitMs: number;
  /** False if the work goes on without it where the state folder cannot be used. */
  isRequired: boolean;
};

/** A mutex that is held until `release` is called, which does nothing when it is called again. */
export type Turn = { release(): void /** True if the resource may have changed meanwhile. */; hasWaited: boolean };

type LibraryDeps = Pick<Library, 'api' | 'signal' | 'workspaceInUse' | 'takeTurn'> & {
  /** Drops what is cached of the folders outside of this process. @param createdCount number of folders created */
  onFoldersChanged(createdCount: number): Promise<void>;
};

/** A library as one command or call sees it: the service, the workspace in use, and its folders. */
export class Library {
  readonly api: Api;
  /** Ends the command or the call. */
  readonly signal: AbortSignal;
  readonly workspaceInUse: WorkspaceInUse;
  readonly folderReader: FolderReader;
  /** Waits for a mutex. @throws CodedError `locked` (exit 6) if another process holds it for too long */
  readonly takeTurn: (turn: TurnRequest) => Promise<Turn>;
  readonly #onFoldersChanged: LibraryDeps['onFoldersChanged'];
  #folders: Promise<FetchedTree> | undefined;
  #fetched: FetchedTree | undefined;

  constructor(deps: LibraryDeps) {
    this.api = deps.api;
    this.signal = deps.signal;
    this.workspaceInUse = deps.workspaceInUse;
    this.folderReader = new FolderReader(
      deps.api,
      async () => (await this.folders({ mayAsk: false })).tree,
      () => this.#fetched?.tree,
    );
    this.takeTurn = deps.takeTurn;
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
      ageMs: startAge(this.api.transport.clock),
      tree: await fetchFolderTree(this.api, workspace),
    }));
    this.#folders = fetched;
    fetched.then(
      (folders) => {
        this.#fetched = folders;
      },
      () => {
        if (this.#folders === fetched) this.#folders = undefined;
      },
    );
    return fetched;
  }

  /** Drops the folders that were fetched, and those that are cached elsewhere. @param now folders after the change, if known */
  async foldersChanged(createdCount = 0, now?: FetchedTree): Promise<void> {
    this.#folders = now && Promise.resolve(now);
    await this.#onFoldersChanged(createdCount);
  }
}
