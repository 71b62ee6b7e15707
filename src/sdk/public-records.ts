/* Part of the package's public API (public-types.ts): what its functions take and return. */

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

/** `signal` aborts everything that the client does. */
export type ClientOptions = CallOptions & {
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
  /** Maximum total wait of a call for retries and rate limits, in milliseconds. Default: 60,000. Uploads wait longer. */
  maxWaitMs?: number | undefined;
  /** Time without a byte after which a request fails, in milliseconds. Default: 30,000; for uploads 120,000. */
  requestTimeoutMs?: number | undefined;
  /** Default: no proxy. The environment is not read. */
  proxy?: { httpProxy?: string | undefined; httpsProxy?: string | undefined; noProxy?: string | undefined } | undefined;
  /** Names of the service's fields that differ from the assumed ones, such as `{ asset_tags: 'labels' }`. */
  fieldNames?: { readonly [key: string]: string } | undefined;
  /** Name of your program, which is appended to the User-Agent header and named in the history. */
  userAgent?: string | undefined;
};

/** Options of a client whose account is that of a profile. `workspace` replaces that of the profile. */
export type ProfileOptions = Pick<
  ClientOptions,
  'workspace' | 'signal' | 'maxWaitMs' | 'requestTimeoutMs' | 'onNotice' | 'userAgent'
>;

/** Tells that requests wait or go on, or warns. Times are in milliseconds since the Unix epoch. */
export type Notice =
  | { kind: 'rate_limited'; untilMs: number }
  | { kind: 'retrying'; untilMs: number; reason: string }
  | { kind: 'resumed' }
  | { kind: 'warning'; message: string };

export type CallOptions = {
  /** Aborts the call, which then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Called, for a call, instead of the client's `onNotice`. */
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

/** What is followed. An asset matches all of it. */
export type FollowQuery = Pick<AssetQuery, 'search' | 'type' | 'tag' | 'folder'>;

/** What happened to an asset, and when it was seen (ISO 8601). A new asset that is ready already has two events. */
export type AssetEvent = {
  event: 'new' | 'ready' | 'failed';
  asset: Asset;
  seenAt: string;
  /** Pass it as `since` to continue after this event, also from another process. */
  cursor: string;
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
  /** Folder to move it to, by path or uid; `/` is the top level. */
  folder?: string | undefined;
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
