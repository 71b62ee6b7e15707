import type { SlugEdit } from '../../../contract/slug.ts';
import type { Asset, PlaybackInfo, PlayerData } from '../../../contract/types.ts';
import type { Budget, Dropped, FolderView, Query } from '../protocol.ts';

/** Editorial fields, and the folder (null for the top level); what is absent stays. */
export type Change = {
  name?: string;
  description?: string;
  tags?: SlugEdit;
  folder?: string | null;
};

type Found = { items: readonly Asset[]; total: number | undefined };

/** How a dropped file does. */
export type Sending = {
  /** `waiting`: for the service; the bytes are those that are sent. */
  state: 'sending' | 'waiting';
  sentBytes: number;
};

export type Sent = { assetUid: string; how: 'uploaded' | 'there' | 'same' };

/** What went wrong, in words for people; nothing in it is a secret. */
export type Problem = { status: number; problem: string; reason?: string; hint?: string };

/** The service as the page needs it. Whoever serves the page has one; the page never sees the key. */
export type Library = {
  /** What relative URLs of the service are resolved against. */
  readonly baseUrl: URL;
  /** @param how whether the page refreshes by itself, and gives way to people's requests; what cancels it */
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
  /** Fetches whole, without the key, from the service or a public address. @throws where it cannot be, or is larger */
  media(url: URL, mostBytes: number): Promise<Uint8Array>;
  /** Uploads a file whose bytes come once. @throws where it is not whole on the service at the end */
  send(
    file: Dropped,
    bytes: AsyncIterable<Uint8Array>,
    onProgress: (sending: Sending) => void,
  ): Promise<Sent>;
  /** What is left of the window's requests; undefined where nobody told yet. */
  budget(): Budget | undefined;
  explain(error: unknown): Problem;
};
