import type { SlugEdit } from '../../../contract/slug.ts';
import type { Asset, PlaybackInfo, PlayerData } from '../../../contract/types.ts';
import type { DroppedFileInfo, FolderView, Query, RequestBudget } from '../protocol.ts';

/** Changes to an asset's fields and its folder (null for the top level); absent fields stay unchanged. */
export type AssetEdit = {
  name?: string;
  description?: string;
  tags?: SlugEdit;
  folder?: string | null;
};

type AssetPage = { items: readonly Asset[]; total: number | undefined };

/** Progress of a dropped file. */
export type TransferProgress = {
  /** `waiting`: for the service, after an outage or a rate limit. */
  state: 'sending' | 'waiting';
  sentBytes: number;
};

/** Result of a completed upload: sent, or found on the service. */
export type UploadResult = { assetUid: string; how: 'uploaded' | 'there' | 'same' };

/** Error as the page shows it; contains no secrets. */
export type Problem = { status: number; problem: string; reason?: string; hint?: string };

/** The service as the page uses it. Runs in the serving process, so the page never sees the API key. */
export type BrowseBackend = {
  /** Base for relative URLs of the service. */
  readonly baseUrl: URL;
  /** Lists assets. @param how background polls have lower priority than the user's requests; `signal` cancels */
  listAssets(
    query: Query,
    limit: number,
    offset: number,
    how: { isBackground: boolean; signal: AbortSignal },
  ): Promise<AssetPage>;
  get(uid: string): Promise<Asset>;
  update(uid: string, change: AssetEdit): Promise<Asset>;
  trash(uid: string): Promise<void>;
  fetchFolders(): Promise<readonly FolderView[]>;
  fetchPlayback(uid: string): Promise<{ info: PlaybackInfo; player: PlayerData }>;
  /** Downloads media without the API key, from public addresses or the service. @throws if it fails or is too large */
  fetchMedia(url: URL, mostBytes: number): Promise<Uint8Array>;
  /** Uploads a file from a single-read stream. @throws unless the service has all of it at the end */
  uploadFile(
    file: DroppedFileInfo,
    bytes: AsyncIterable<Uint8Array>,
    onProgress: (sending: TransferProgress) => void,
  ): Promise<UploadResult>;
  /** Returns the rate limit's remaining requests; undefined before the service reported any. */
  budget(): RequestBudget | undefined;
  /** Converts any thrown value to an error that the page can show. */
  toProblem(error: unknown): Problem;
};
