/** What the page and the process that serves it tell each other. The process has checked every type. */

/** §4 Filters and ordering. Dates are YYYY-MM-DD; `parent` is a uid, or `root`. */
export type Query = Partial<Record<(typeof queryFields)[number], string>>;

export const queryFields = [
  ...(['search', 'status', 'type', 'tag', 'created_after', 'created_before'] as const),
  ...(['parent', 'ordering'] as const),
] as const;

/** An asset, as far as it can be read. */
export type Card = {
  uid: string;
  name: string;
  description: string;
  type: string;
  status: string;
  /** What the status means (A11). */
  means: 'ready' | 'failed' | 'in progress';
  /** Why it failed, where the service says so. */
  reason: string | null;
  /** ISO 8601. */
  createdAt: string | null;
  /** Seconds. */
  duration: number | null;
  /** Bytes. */
  size: number | null;
  /** Slugs; null where the record shows none. */
  tags: string[] | null;
  /** The uid of its folder; null for the top level, undefined where the record does not say. */
  folder?: string | null;
  /** Changes with the picture; null where there is none. */
  thumbnail: string | null;
};

/** How an asset may be called in a path: as an API identifies it. */
export const uidPattern = '[A-Za-z0-9_-]{1,100}';

/** A page of the list; a total that is null was not told. */
export type CardPage = { items: Card[]; total: number | null };

export type FolderView = { uid: string; name: string; path: string; children: FolderView[] };

/** Requests of the window under way; `resetAt` in milliseconds since the epoch. */
export type Budget = { limit: number; left: number; resetAt: number };

/** The header of every answer that tells the budget, as JSON. */
export const budgetHeader = 'x-budget';

/** A file that somebody dropped: where it goes, and the folders it was in (`day 1/cam a`). */
export type Dropped = {
  name: string;
  below: string;
  /** The uid of a folder; null for the top level. */
  folder: string | null;
  sizeBytes: number;
};

/** A dropped file on its way; `id` is the page's own. */
export type UploadState = {
  id: string;
  name: string;
  state: 'taking' | 'sending' | 'waiting' | 'uploaded' | 'there' | 'failed';
  /** Taken from the page, then sent to the service. */
  doneBytes: number;
  sizeBytes: number;
  assetUid?: string;
  problem?: string;
};

export const isEnded = ({ state }: Pick<UploadState, 'state'>) =>
  ['uploaded', 'there', 'failed'].includes(state);

/** When a frame of a video is shown, and where it stands in which sheet. Seconds, and pixels. */
export type Frame = {
  start: number;
  end: number;
  x: number;
  y: number;
  width: number;
  height: number;
  sheet: number;
};

/** What the page is told when it happens. */
export type PageEvent =
  | { kind: 'upload'; upload: UploadState }
  | { kind: 'waiting'; why: string; until: number }
  | { kind: 'going on' };

/** What the markup hands to the script, in an element of this id. */
export const setupId = 'browse-setup';

export type Setup = {
  /** Path below which everything of this page is. */
  base: string;
  /** Host of the service. */
  service: string;
};
