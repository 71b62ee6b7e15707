/* The package's public API. It imports nothing, so that its declarations stand alone. docs/library-api.md has examples. */

/** Creates a client of one service. It sends no request yet. */
export declare function createClient(options: ClientOptions): Client;

/** A failure of the service, the network, a file or an argument. An aborted call rejects with its signal's reason instead. */
export class MediactlError extends Error {
  static {
    Object.defineProperty(MediactlError, 'name', { value: 'MediactlError' }); // bundling shortens it
  }

  /** Stable code, such as `not_found`, `rate_limited` or `file_changed`. docs/errors.md lists them. */
  readonly code: string;
  /** Cause as one sentence, which `message` contains too. */
  readonly reason: string | undefined;
  /** HTTP status of the response that caused the error. */
  readonly status: number | undefined;
  /** True if the same call may succeed later. */
  readonly retryable: boolean;
  /** Delay in seconds that the service asks for. */
  readonly retryAfterSeconds: number | undefined;
  readonly details: unknown;

  /** @internal */
  constructor(
    message: string,
    fields: Pick<MediactlError, 'code' | 'reason' | 'status' | 'retryable' | 'retryAfterSeconds' | 'details' | 'cause'>,
  ) {
    super(fields.reason ? `${message}: ${fields.reason}` : message, { cause: fields.cause });
    this.name = 'MediactlError';
    this.code = fields.code;
    this.reason = fields.reason;
    this.status = fields.status;
    this.retryable = fields.retryable;
    this.retryAfterSeconds = fields.retryAfterSeconds;
    this.details = fields.details;
  }
}

export type ClientOptions = {
  /** Base URL of the service, such as `https://media.example.com`. */
  baseUrl: string | URL;
  /** API key. It is sent to the origin of `baseUrl` only. */
  apiKey: string;
  /** Workspace whose folders and assets are used, by uid or name. Default: the primary workspace. */
  workspace?: string | undefined;
  /** Uid of the primary workspace, if the service does not show which one it is. Folders are found in this one only. */
  primaryWorkspace?: string | undefined;
  /**
   * Directory for unfinished uploads and for receipts of finished ones. Programs and the command line that share it
   * resume each other's uploads and send no file twice. Without it, this client keeps them in memory.
   */
  stateDir?: string | undefined;
  /**
   * True to record each change in the history of the state directory, so that `mediactl history` lists it and
   * `mediactl undo` takes it back. A change is then read before it is written. Default: false.
   */
  history?: boolean | undefined;
  /** Aborts everything that the client does. */
  signal?: AbortSignal | undefined;
  /** Maximum total wait of a call for retries and rate limits, in milliseconds. Default: 60,000. Uploads wait longer. */
  maxWaitMs?: number | undefined;
  /** Time without a byte after which a request fails, in milliseconds. Default: 30,000; for uploads 120,000. */
  requestTimeoutMs?: number | undefined;
  /** Default: no proxy. The environment is not read. */
  proxy?: { httpProxy?: string | undefined; httpsProxy?: string | undefined; noProxy?: string | undefined } | undefined;
  /** Names of the service's fields that differ from the assumed ones, such as `{ asset_tags: 'labels' }`. */
  fieldNames?: { readonly [key: string]: string } | undefined;
  onNotice?: ((notice: Notice) => void) | undefined;
  /** Appended to the User-Agent header. */
  userAgent?: string | undefined;
};

/** Tells that requests wait or go on, or warns. Times are in milliseconds since the Unix epoch. */
export type Notice =
  | { kind: 'rate_limited'; untilMs: number }
  | { kind: 'retrying'; untilMs: number; reason: string }
  | { kind: 'resumed' }
  | { kind: 'warning'; message: string };

export type CallOptions = {
  /** Aborts the call, which then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Called instead of the client's `onNotice`. */
  onNotice?: ((notice: Notice) => void) | undefined;
};

/**
 * A record as the service sends it. Its named fields are those of the specification (§2); a service may leave each out.
 * Check the type of every other field.
 */
export type Asset = {
  readonly uid: string;
  readonly name?: string;
  readonly description?: string | null;
  /** Processing status. An asset can be played once it is `ready`. */
  readonly status?: string;
  /** ISO 8601. */
  readonly created_at?: string;
  /** Seconds. */
  readonly duration?: number | null;
  /** Absolute URL. */
  readonly thumbnail_url?: string | null;
  readonly [field: string]: unknown;
};

/** Filters of a list (specification §4). An asset matches all of them. */
export type AssetQuery = {
  /** Words in the name or the description. */
  search?: string | undefined;
  type?: string | undefined;
  status?: string | undefined;
  /** Slug of one tag. */
  tag?: string | undefined;
  /** Folder by path, such as `/Campaigns/2026`, or by uid; `/` is the top level. Its subfolders do not count. */
  folder?: string | undefined;
  /** YYYY-MM-DD, inclusive. */
  createdAfter?: string | undefined;
  createdBefore?: string | undefined;
  ordering?: 'created_at' | '-created_at' | 'name' | '-name' | 'duration' | '-duration' | undefined;
  /** Maximum number of assets. Default: all. A request returns up to 100. */
  limit?: number | undefined;
};

/** Changes of an asset. What is absent stays as it is. */
export type AssetChange = {
  name?: string | undefined;
  description?: string | undefined;
  /** All tags, as slugs: lowercase letters a to z, digits, hyphens and underscores. Not together with the next two. */
  tags?: readonly string[] | undefined;
  /** Slugs. */
  addTags?: readonly string[] | undefined;
  /** Tags as the library has them. None of them is in `addTags`. */
  removeTags?: readonly string[] | undefined;
};

/** A folder. `parent` is the uid of the folder above; null at the top level. */
export type Folder = {
  readonly uid: string;
  readonly name: string;
  readonly path: string;
  readonly parent: string | null;
};

export type Workspace = { readonly uid: string; readonly name: string; readonly isPrimary: boolean };

/** A URL to play. `expiresAt` is an ISO 8601 timestamp, if the service says when. */
export type Playable = {
  kind: 'hls' | 'file' | 'image' | 'document' | 'embed';
  url: string;
  expiresAt: string | undefined;
};

/** How to play an asset. `urls` has the best first. `playbackToken` is valid for 4 hours and safe in a browser. */
export type Playback = { type: string; isBlocked: boolean; urls: readonly Playable[]; playbackToken: string };

export type WaitResult =
  | { uid: string; asset: Asset; error?: undefined }
  | { uid: string; asset?: undefined; error: MediactlError };

export type DownloadOptions = CallOptions & {
  /** True to replace an existing file. */
  overwrite?: boolean | undefined;
  /** True to accept a file that is not the original. */
  acceptRendition?: boolean | undefined;
  /** Called with the bytes received, and the total if it is known. */
  onProgress?: ((receivedBytes: number, totalBytes: number | undefined) => void) | undefined;
};

/** A saved file. `isVerified` is true if it was compared with the file that was uploaded; null if that is not known. */
export type Download = { path: string; sizeBytes: number; contentType: string | undefined; isVerified: boolean | null };

export type UploadOptions = CallOptions & {
  /** Folder by path or uid. Missing folders are created. Default: the top level. */
  folder?: string | undefined;
  name?: string | undefined;
  description?: string | undefined;
  /** Media type. Default: that of the extension. */
  contentType?: string | undefined;
  /** Slugs. */
  tags?: readonly string[] | undefined;
  /**
   * What counts as uploaded already, besides the asset that was uploaded from the same path: the same `content` in the
   * folder (default), the same content `anywhere`, or no other `file`. `upload` sends all, as new assets.
   */
  existing?: 'content' | 'anywhere' | 'file' | 'upload' | undefined;
  /** True to fail if the service sends no checksum to compare with. */
  requireChecksum?: boolean | undefined;
  /** Maximum bytes per second. */
  limitRate?: number | undefined;
  /** Bytes per request. Default and maximum: 50 MiB. */
  chunkBytes?: number | undefined;
  onProgress?: ((progress: UploadProgress) => void) | undefined;
};

export type DirectoryOptions = Omit<UploadOptions, 'name'> & {
  /**
   * Globs of files to upload, or of directories and so all that is in them. One that begins with `/` is matched from the
   * top of the directory, any other at any depth.
   */
  include?: readonly string[] | undefined;
  /** Globs of files and directories to leave out. */
  exclude?: readonly string[] | undefined;
  /** True to also upload files that other programs leave, such as `.DS_Store`. */
  allFiles?: boolean | undefined;
  /** True to upload all files to one folder instead of mirroring the directories. */
  flatten?: boolean | undefined;
  /** Number of files that are sent at the same time. Default: 8. */
  transfers?: number | undefined;
};

/** Progress of one file. `sentBytes` may go back after a dropped connection; `acknowledgedBytes` does not. */
export type UploadProgress = {
  path: string;
  phase: 'started' | 'verifying' | 'sending' | 'waiting' | 'done';
  sentBytes: number;
  acknowledgedBytes: number;
  totalBytes: number;
};

export type UploadResult = {
  path: string;
  uid: string;
  /**
   * `uploaded` by this call, `skipped` (uploaded before from this path), `updated` (uploaded before from this path, and
   * its asset has the given metadata now), `duplicate` (of content uploaded before), or
   * `same_name_and_size` (as an asset that was not compared, which the command line found with the same state folder).
   */
  outcome: 'uploaded' | 'skipped' | 'updated' | 'duplicate' | 'same_name_and_size';
  bytesSent: number;
  /** Offset at which an earlier upload was resumed; null for a new one. */
  resumedFromBytes: number | null;
  /** BLAKE3 in hex; null if it is not known. */
  blake3: string | null;
  /** True if the service's checksum is equal; null if it sent none. */
  isVerified: boolean | null;
};

export type DirectoryResult =
  | { path: string; upload: UploadResult; error?: undefined }
  | { path: string; upload?: undefined; error: MediactlError };

/** The embed restriction of a workspace, and the domains on its allow-list, as the service writes them. */
export type EmbedSettings = { isRestricted: boolean; domains: string[] };

export type RequestOptions = CallOptions & {
  /** Sent as JSON. */
  json?: { readonly [field: string]: unknown } | undefined;
  query?: { readonly [name: string]: string | number | undefined } | undefined;
};

/** Response of a request. `json` is undefined if the body is empty or no JSON. */
export type ApiResponse = { status: number; json: unknown };

/** Requests left in the window of the rate limit, as the last response reported them. */
export type RateLimit = { limit: number; remaining: number; resetsAt: Date };

/**
 * Client of one service. Every call rejects with a MediactlError, with the reason of an aborted signal, or with what a
 * callback of yours has thrown. After `close`, calls reject with the code `interrupted`.
 */
export type Client = {
  readonly assets: {
    /** Lists assets page by page. Rejects with `filter_ignored` if the service ignores a filter that records show. */
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
    /** Moves an asset to a folder, by path or uid; `/` is the top level. Rejects with `not_found` if it is missing. */
    move(uid: string, folder: string, options?: CallOptions): Promise<Asset>;
    /** Moves an asset to the trash. The API cannot restore it. */
    trash(uid: string, options?: CallOptions): Promise<void>;
    /** Yields each asset once it is ready, or the error of one that never will be. Default timeout: 30 minutes. */
    wait(
      uids: readonly string[],
      options?: CallOptions & { timeoutMs?: number | undefined },
    ): AsyncIterableIterator<WaitResult>;
    playback(uid: string, options?: CallOptions): Promise<Playback>;
    /**
     * Saves the file of an asset, or the largest variant of an image, whole or not at all, with mode 0600. Rejects with
     * `already_exists` if there is a file at `path`.
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
    /** Deletes a folder. The service decides whether it may have content. */
    remove(folder: string, options?: CallOptions): Promise<void>;
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
  /** Undefined until the service has reported it. */
  readonly rateLimit: RateLimit | undefined;
  /** Aborts what is under way, and closes connections and state. */
  close(): Promise<void>;
};
