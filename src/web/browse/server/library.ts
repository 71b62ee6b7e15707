import type { SlugEdit } from '../../../contract/slug.ts';
import type { Asset, PlaybackInfo, PlayerData } from '../../../contract/types.ts';
import type { Budget, Dropped, FolderView, Query } from '../protocol.ts';

/** Changes to an asset's fields and its folder (null for the top level); absent fields stay unchanged. */
export type Change = {
  name?: string;
  description?: string;
  tags?: SlugEdit;
  folder?: string | null;
};

type Found = { items: readonly Asset[]; total: number | undefined };

/** Progress of a dropped file. */
export type Sending = {
  /** `waiting`: for the service, after an outage or a rate limit. */
  state: 'sending' | 'waiting';
  sentBytes: number;
};

/** Result of a completed upload: sent, or found on the service. */
export type Sent = { assetUid: string; how: 'uploaded' | 'there' | 'same' };

/** Error as the page shows it; contains no secrets. */
export type Problem = { status: number; problem: string; reason?: string; hint?: string };

/** The service as the page uses it. Runs in the serving process, so the page never sees the API key. */
export type Library = {
  /** Base for relative URLs of the service. */
  readonly baseUrl: URL;
  /** Lists assets. @param how background polls have lower priority than the user's requests; `signal` cancels */
  page(
    query: Query,
    limit: number,
    offset: number,
    how: { isLooking: boolean; signal: AbortSignal },
  ): Promise<Found>;
  get(uid: string): Promise<Asset>;
  update(uid: string, change: Change): Promise<Asset>;
  trash(uid: string): Promise<void>;
  folders(): Promise<readonly FolderView[]>;
  playback(uid: string): Promise<{ info: PlaybackInfo; player: PlayerData }>;
  /** Downloads media without the API key, from public addresses or the service. @throws if it fails or is too large */
  media(url: URL, mostBytes: number): Promise<Uint8Array>;
  /** Uploads a file from a single-read stream. @throws unless the service has all of it at the end */
  send(
    file: Dropped,
    bytes: AsyncIterable<Uint8Array>,
    onProgress: (sending: Sending) => void,
  ): Promise<Sent>;
  /** Returns the rate limit's remaining requests; undefined before the service reported any. */
  budget(): Budget | undefined;
  /** Converts any thrown value to an error that the page can show. */
  explain(error: unknown): Problem;
};
