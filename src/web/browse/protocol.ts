/** Messages between the page and its serving process, which has validated every field. */

/** Filters and ordering of the list (§4). Dates are YYYY-MM-DD; `parent` is a uid or `root`. */
export type Query = Partial<Record<(typeof queryFields)[number], string>>;

export const queryFields = [
  ...(['search', 'status', 'type', 'tag', 'created_after', 'created_before'] as const),
  ...(['parent', 'ordering'] as const),
] as const;

/** An asset as the page shows it. */
export type Card = {
  uid: string;
  name: string;
  description: string;
  type: string;
  status: string;
  /** Group of the processing status (A11). */
  means: 'ready' | 'failed' | 'in progress';
  /** Failure reason, if the service reports one. */
  reason: string | null;
  /** ISO 8601. */
  createdAt: string | null;
  /** Seconds. */
  duration: number | null;
  /** Bytes. */
  size: number | null;
  /** Tag slugs; null if the record has no readable tags. */
  tags: string[] | null;
  /** Folder uid; null for the top level, undefined if the record has no such field. */
  folder?: string | null;
  /** Version of the thumbnail, used as a cache key in its URL; null without a thumbnail. */
  thumbnail: string | null;
};

/** Pattern of an asset uid in a URL path. */
export const uidPattern = '[A-Za-z0-9_-]{1,100}';

/** A page of the list; `total` is null if the service does not report it. */
export type CardPage = { items: Card[]; total: number | null };

export type FolderView = { uid: string; name: string; path: string; children: FolderView[] };

/** Rate limit of the current window; `resetAt` in milliseconds since the epoch. */
export type RequestBudget = { limit: number; left: number; resetAt: number };

/** Response header that reports the rate limit, as JSON. */
export const budgetHeader = 'x-budget';

/** Metadata of a dropped file: target folder, and the relative directory it was in (`day 1/cam a`). */
export type DroppedFileInfo = {
  name: string;
  relativeDir: string;
  /** Folder uid; null for the top level. */
  folder: string | null;
  sizeBytes: number;
};

/** Upload state of a dropped file; the page assigns `id`. */
export type UploadState = {
  id: string;
  name: string;
  state: 'taking' | 'sending' | 'waiting' | 'uploaded' | 'there' | 'failed';
  /** Bytes received from the page, then bytes sent to the service. */
  doneBytes: number;
  sizeBytes: number;
  assetUid?: string;
  problem?: string;
};

export const isEnded = ({ state }: Pick<UploadState, 'state'>) =>
  ['uploaded', 'there', 'failed'].includes(state);

/** Frame of a video preview: its time range in seconds, and its rectangle in a sprite sheet in pixels. */
export type SpriteFrame = {
  start: number;
  end: number;
  x: number;
  y: number;
  width: number;
  height: number;
  sheet: number;
};

/** Server-sent event. */
export type PageEvent =
  | { kind: 'upload'; upload: UploadState }
  | { kind: 'waiting'; why: string; until: number }
  | { kind: 'going on' };

/** Id of the element that holds the script's configuration as JSON. */
export const gallerySetupId = 'browse-setup';

/** Configuration that the markup passes to the gallery script. */
export type GallerySetup = {
  /** Path prefix of every route of the page. */
  base: string;
  /** Host of the service. */
  service: string;
};
