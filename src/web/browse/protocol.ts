import { type AssetFilters, filterRows } from '../../contract/asset-filters.ts';
import { type SuccessOutcome, uploadOutcomes } from '../../shared/upload-outcomes.ts';
import type { Sprite } from '../shared/sprites.ts';

/* Messages between the page and its serving process, which has validated every field that it sends. */

/** Filters and order of the asset list (§4). Dates are YYYY-MM-DD; `parent` is a folder uid or `root`. */
export type Query = AssetFilters;

export const queryFields = [...filterRows.map(({ name }) => name), 'ordering'] as const;

/** Describes the first field of a query that is neither a filter nor among the others; undefined if there is none. */
export function findUnknownField(search: URLSearchParams, others: readonly string[]): string | undefined {
  const known: readonly string[] = [...queryFields, ...others];
  const unknown = [...search.keys()].find((field) => !known.includes(field));
  return unknown && `${unknown} is not a filter of the asset list`;
}

/** An asset as the page shows it. A field is null if the service does not say it. */
export type Card = {
  uid: string;
  name: string;
  description: string;
  type: string;
  status: string;
  /** Group that the processing status belongs to (assumption A11). */
  means: 'ready' | 'failed' | 'in progress';
  reason: string | null;
  /** Creation time (ISO 8601). */
  createdAt: string | null;
  /** Duration in seconds. */
  duration: number | null;
  /** Size in bytes. */
  size: number | null;
  tags: string[] | null;
  /** Folder uid; null for the top level, undefined if the API record does not name a folder. */
  folder?: string | null;
  /** Version of the thumbnail, used as a cache key in its URL. */
  thumbnail: string | null;
};

export const uidPattern = '[A-Za-z0-9_-]{1,100}';

/**
 * Page of results from the asset list, without assets that are known to be in another workspace, of which `leftOut` is the
 * number. `total` is that of the service, null if it does not report it; `firstCreatedAt` is the creation time of the first
 * asset that the service lists (ISO 8601). `isAll` is true if an asset may be in any workspace.
 */
export type CardPage = {
  items: Card[];
  total: number | null;
  leftOut: number;
  isAll: boolean;
  firstCreatedAt: string | null;
};

/**
 * What the page shows of a list of which all is selected: its total, the creation time of its newest asset (ISO 8601), and
 * how many assets of it are selected. Null is not known.
 */
export type SeenList = { total: number | null; newest: string | null; count: number | null };

/** Selected assets: those with these uids, or all of a list but the exceptions, as long as the list is as it was seen. */
export type PageSelection = { uids: readonly string[] } | { query: Query; except: readonly string[]; seen: SeenList };

/** Maximum number of assets that the page moves at once. More are a command's work. */
export const maxMoved = 50;

/** What a move has done: how many assets it moved, and why others were not. `change` is null if it cannot be undone. */
export type PageMove = { change: string | null; count: number; problem: string | null };

/** Maximum number of assets of which the page copies the links, since each takes two requests. */
export const maxLinks = 50;

/**
 * Playback links, one per line, and until when the first of them works (Unix milliseconds; null if not known).
 * `unplayableCount` is the number of assets that have none.
 */
export type CopiedLinks = { text: string; count: number; until: number | null; unplayableCount: number };

export type FolderView = { uid: string; name: string; path: string; children: FolderView[] };

/** Rate limit of the current window: the number of remaining requests, and when it ends, in Unix milliseconds. */
export type RequestBudget = { limit: number; left: number; resetAt: number };

/** Response header that contains the RequestBudget as JSON. */
export const budgetHeader = 'x-budget';

/** Metadata of a dropped file. `relativeDir` is its directory relative to the drop, such as `day 1/cam a`; `folder` is null for the top level. */
export type DroppedFileInfo = { name: string; relativeDir: string; folder: string | null; sizeBytes: number };

export type UploadEnd = SuccessOutcome | 'failed';

/** Upload state of a dropped file. The page generates the `id`. */
export type UploadState = {
  id: string;
  name: string;
  state: 'taking' | 'sending' | 'waiting' | UploadEnd;
  /** Bytes transferred so far: first from the page to the serving process, then to the service. */
  doneBytes: number;
  sizeBytes: number;
  assetUid?: string;
  problem?: string;
};

export const isEnd = (state: UploadState['state']): state is UploadEnd => state in uploadOutcomes;

export const isEnded = ({ state }: Pick<UploadState, 'state'>) => isEnd(state);

/** Frame of a video preview. `sheet` is the index of its sprite sheet. */
export type SpriteFrame = Omit<Sprite, 'url'> & { sheet: number };

/** Server-sent event to the page. `until` is in Unix milliseconds. */
export type PageEvent =
  | { kind: 'upload'; upload: UploadState }
  | { kind: 'waiting'; why: string; until: number }
  | { kind: 'going on' };

/** Id of the element that holds the gallery script's configuration as JSON. */
export const gallerySetupId = 'browse-setup';

/**
 * Configuration of the gallery script: the path prefix of every route, the host name and port of the service, the profile
 * in use, and the first words of each command that acts on its account, such as `mediactl --profile work`.
 * `pick` is true if a command waits for what the user selects.
 */
export type GallerySetup = {
  base: string;
  service: string;
  profile: string | null;
  program: string;
  pick: boolean;
  /** Number of uploads that an earlier process has left unfinished. */
  interruptedCount: number;
};
