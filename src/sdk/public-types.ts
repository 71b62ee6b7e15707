import type {
  ApiResponse,
  Asset,
  AssetChange,
  AssetEvent,
  AssetQuery,
  CallOptions,
  ClientOptions,
  EmbedSettings,
  Folder,
  FollowQuery,
  Playback,
  ProfileOptions,
  RateLimit,
  RequestOptions,
  WaitResult,
  Workspace,
} from './public-records.ts';
import type {
  CheckOptions,
  CheckResult,
  DirectoryOptions,
  DirectoryResult,
  Download,
  DownloadOptions,
  FolderDownload,
  FolderDownloadOptions,
  UploadOptions,
  UploadResult,
} from './public-transfers.ts';

/*
 * The package's public API. It imports nothing but its parts, and the build makes one file of their declarations, which
 * stands alone. docs/library-api.md has examples.
 */

export type * from './public-records.ts';
export { MediactlError } from './public-records.ts';
export type * from './public-transfers.ts';

/** Creates a client of one service. It sends no request yet. */
export declare function createClient(options: ClientOptions): Client;

/**
 * Creates a client of the person who runs the program, as the command line would: with the account of a profile, its
 * keychain and workspace, and with the uploads, receipts and history of the state directory. Without a name it is the
 * current profile, or the one that environment variables such as MEDIACTL_API_KEY and MEDIACTL_PROFILE choose.
 */
export declare function fromProfile(name?: string, options?: ProfileOptions): Promise<Client>;

/**
 * Client of one service. Every call rejects with a MediactlError, with the reason of an aborted signal, or with what a
 * callback of yours has thrown. After `close`, calls reject with the code `interrupted`.
 */
export type Client = {
  readonly assets: {
    /**
     * Lists assets page by page. Rejects with `filter_ignored` if the service ignores a filter that records show, and
     * at the end, after all that the service lists, with `list_incomplete` if it says that there are more.
     */
    list(query?: AssetQuery, options?: CallOptions): AsyncIterableIterator<Asset>;
    get(uid: string, options?: CallOptions): Promise<Asset>;
    /**
     * Returns the assets with this name, at this path, such as `/Campaigns/clip.mp4`, or matching this glob, in the
     * workspace of the client. Reads each whose workspace the list does not show, unless the key can see one workspace
     * only, and warns by a notice if the service does not show it at all.
     */
    find(nameOrPath: string, options?: CallOptions): Promise<Asset[]>;
    /**
     * Changes an asset and compares the result. Rejects with `write_ignored` if the service did not apply it; warns by
     * a notice if the service does not show whether it did.
     */
    update(uid: string, change: AssetChange, options?: CallOptions): Promise<Asset>;
    /**
     * Changes several assets as one change of the history, which one `mediactl undo` reverts. Resolves with a result for
     * each. Pass as `planned` the records on which you decided: an asset of which what is to be changed is not as there,
     * right before its write, stays as it is, with the error `changed_meanwhile`.
     */
    updateAll(
      uids: readonly string[],
      change: AssetChange,
      options?: CallOptions & { planned?: readonly Asset[] | undefined },
    ): Promise<WaitResult[]>;
    /** Moves an asset to a folder, by path or uid; `/` is the top level. Rejects with `not_found` if it is missing. */
    move(uid: string, folder: string, options?: CallOptions): Promise<Asset>;
    /** Moves an asset to the trash. The API cannot restore it. */
    trash(uid: string, options?: CallOptions): Promise<void>;
    /** Yields each asset once it is ready, or the error of one that never will be. Default timeout: 30 minutes. */
    wait(
      uids: readonly string[],
      options?: CallOptions & { timeoutMs?: number | undefined },
    ): AsyncIterableIterator<WaitResult>;
    /**
     * Yields each asset that becomes new, ready or failed, until the signal aborts, within a minute while these are among
     * the newest 100 assets, and with 60 requests an hour. Edits and deletions are not seen.
     */
    follow(
      query?: FollowQuery,
      options?: CallOptions & { since?: string | undefined },
    ): AsyncIterableIterator<AssetEvent>;
    playback(uid: string, options?: CallOptions): Promise<Playback>;
    /**
     * Saves the file of an asset, or the largest variant of an image, whole or not at all. Rejects with
     * `already_exists` if there is a file at `path`. With a state directory, continues where an earlier call stopped.
     */
    download(uid: string, path: string, options?: DownloadOptions): Promise<Download>;
  };
  readonly folders: {
    list(options?: CallOptions): Promise<Folder[]>;
    /** Returns the folder at a path. Creates it, and those above it, if they are missing. */
    ensure(path: string, options?: CallOptions): Promise<Folder>;
    /** Renames a folder, given by path or uid. Rejects with `already_exists` if its parent has that name. */
    rename(folder: string, name: string, options?: CallOptions): Promise<Folder>;
    /** Moves a folder, with everything in it, into another; `/` is the top level. */
    move(folder: string, parent: string, options?: CallOptions): Promise<Folder>;
    /**
     * Deletes an empty folder; with `recursive`, also one that has content or cannot be listed, with all that is in it.
     * Rejects with `conflict` if it has content, and with `usage` if that is not known.
     */
    remove(folder: string, options?: CallOptions & { recursive?: boolean | undefined }): Promise<void>;
  };
  readonly workspaces: { list(options?: CallOptions): Promise<Workspace[]> };
  /** The embed restriction of the workspace (specification §4). */
  readonly embed: {
    settings(options?: CallOptions): Promise<EmbedSettings>;
    /** Turns the restriction on or off, and keeps the allow-list. */
    restrict(isRestricted: boolean, options?: CallOptions): Promise<EmbedSettings>;
    /** Adds domains, such as `news.example.com`, to the allow-list. */
    allow(domains: readonly string[], options?: CallOptions): Promise<EmbedSettings>;
    disallow(domains: readonly string[], options?: CallOptions): Promise<EmbedSettings>;
  };
  /**
   * Sends a request to a path of the API, such as `/assets/`, with retries and the rate limit. Rejects for a status other
   * than 2xx.
   */
  request(method: string, path: string, options?: RequestOptions): Promise<ApiResponse>;
  /**
   * Uploads a file. Resumes where an earlier attempt with the same state directory stopped. Rejects with
   * `upload_in_progress` while another call or program uploads the same file.
   */
  upload(path: string, options?: UploadOptions): Promise<UploadResult>;
  /**
   * Uploads the files of a directory, from the first call of `next()`, and yields each result. A bad file fails alone.
   * The uploads do not wait for the consumer; leaving the loop stops those that are not done.
   */
  uploadDirectory(path: string, options?: DirectoryOptions): AsyncIterableIterator<DirectoryResult>;
  /**
   * Downloads a folder, by path or uid, with its subfolders, or what matches a glob such as `/Dailies/*.mov`, to a
   * directory, which it creates. Begins with the first call of `next()`, and yields each file; one that fails, fails alone.
   * Call it again to continue: it leaves the files that are there and unchanged, and replaces only what it has downloaded
   * itself and nobody has changed, unless `overwrite` is set. Leaving the loop stops the rest.
   */
  downloadFolder(
    folder: string,
    directory: string,
    options?: FolderDownloadOptions,
  ): AsyncIterableIterator<FolderDownload>;
  /** Compares a directory with a folder, as the next sync of the command line would. */
  check(directory: string, options?: CheckOptions): Promise<CheckResult>;
  /** Undefined until the service has reported it. */
  readonly rateLimit: RateLimit | undefined;
  /** Aborts what is under way, and closes connections and state. */
  close(): Promise<void>;
};
