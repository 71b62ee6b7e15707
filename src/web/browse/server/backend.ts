import type { SlugEdit } from '../../../contract/slug.ts';
import type { AssetRecord, PlaybackInfo, PlayerData } from '../../../contract/types.ts';
import type { SuccessOutcome } from '../../../shared/upload-outcomes.ts';
import type {
  CopiedLinks,
  DroppedFileInfo,
  FolderView,
  PageMove,
  PageSelection,
  Query,
  RequestBudget,
  SeenList,
} from '../protocol.ts';

/** Fields of an asset, as the user saw them. */
export type SeenFields = { name?: string; description?: string; tags?: string[]; folder?: string | null };

/**
 * Changes to an asset. Absent fields stay unchanged; a `folder` of null means the top level. `from` are the values that the
 * user saw: if the library has others now, the change is refused.
 */
export type AssetEdit = Omit<SeenFields, 'tags'> & { tags?: SlugEdit; from?: SeenFields };

/** Upload progress of a dropped file. It waits after an outage or because of a rate limit. */
export type TransferProgress = { state: 'sending' | 'waiting'; sentBytes: number };

/** Result of an upload, after which the service has the file. */
export type DropResult = { assetUid: string; outcome: SuccessOutcome };

/** An upload that has begun and not ended. `sentBytes` is what the service has acknowledged. */
export type InterruptedUpload = { id: string; name: string; sizeBytes: number; sentBytes: number };

/** Error as the page shows it. `status` is an HTTP status. The error contains no secrets. */
export type Problem = {
  status: number;
  problem: string;
  reason?: string;
  hint?: string;
  /** Value that a field has now, if others have changed it since the user saw it. */
  present?: string;
  /** The list as it is now, if it has changed since the user selected all of it. */
  now?: SeenList;
};

/** Error of a request from the page, which is invalid or names something that does not exist. */
export class PageProblem extends Error {
  readonly status: number;
  readonly now: SeenList | undefined;

  constructor(problem: string, status = 400, now?: SeenList) {
    super(problem);
    this.status = status;
    this.now = now;
  }

  /** Returns the problem of the first PageProblem in an error's chain of causes; undefined if there is none. */
  static findIn(error: unknown): Problem | undefined {
    if (error instanceof PageProblem)
      return { status: error.status, problem: error.message, ...(error.now && { now: error.now }) };
    return error instanceof Error && error.cause ? PageProblem.findIn(error.cause) : undefined;
  }
}

/** Playback data of an asset, as an embedding page gets it. */
export type AssetPlayback = { info: PlaybackInfo; player: PlayerData };

/** Assets that a user has selected in the page: all of a list that match its filters, or each by itself. */
export type PickedAssets = { assets: readonly AssetRecord[]; isByFilter: boolean };

/** Operations of the service that the page needs. The serving process runs them, so the page never sees the API key. */
export type BrowseBackend = {
  readonly baseUrl: URL;
  /** Lists assets. A background request, which is a poll, has lower priority than the user's requests. */
  listAssets(
    query: Query,
    limit: number,
    offset: number,
    options: { isBackground: boolean; signal: AbortSignal },
  ): Promise<{ items: readonly AssetRecord[]; total: number | undefined }>;
  /**
   * Returns listed assets without those that are known to be in another workspace, without a request. `isAll` is true if
   * one of them may be.
   */
  keepOwn(query: Query, items: readonly AssetRecord[]): Promise<{ kept: readonly AssetRecord[]; isAll: boolean }>;
  get(uid: string): Promise<AssetRecord>;
  update(uid: string, change: AssetEdit): Promise<AssetRecord>;
  /** @param seen values that the user saw: if the library has others now, the asset stays */
  trash(uid: string, seen?: SeenFields): Promise<void>;
  /** Moves assets to a folder, as one change; null means the top level. @throws Error if none was moved */
  move(uids: readonly string[], folder: string | null): Promise<PageMove>;
  undoMove(change: string): Promise<PageMove>;
  /**
   * Returns the assets of a selection, with what is known of them: of some, the uid only.
   *
   * @throws PageProblem 409 if the list is not as it was seen
   */
  resolveSelection(selection: PageSelection): Promise<PickedAssets>;
  /** Returns the best playback link of each asset, as `mediactl share` prints it. */
  fetchLinks(uids: readonly string[]): Promise<CopiedLinks>;
  /** Hands a selection to the command that waits for it; null if the user cancels. Absent if none waits. */
  pick?: ((picked: PickedAssets | null) => void) | undefined;
  fetchFolders(): Promise<readonly FolderView[]>;
  fetchPlayback(uid: string): Promise<AssetPlayback>;
  /** Downloads without the API key, and only from public addresses and the service. @throws Error above `maxBytes` */
  fetchMedia(url: URL, maxBytes: number): Promise<Uint8Array>;
  /** `bytes` can be read only once. @throws Error if the service does not have the complete file */
  uploadFile(
    file: DroppedFileInfo,
    bytes: AsyncIterable<Uint8Array>,
    onProgress: (sending: TransferProgress) => void,
  ): Promise<DropResult>;
  /** Returns the uploads that an earlier process has left, and that no process is sending. */
  interrupted(): Promise<readonly InterruptedUpload[]>;
  /** Resumes one of them. @throws Error if the service does not have the complete file */
  resumeUpload(id: string, onProgress: (sending: TransferProgress) => void): Promise<DropResult>;
  /** Returns the rate limit and its remaining requests; undefined until the service has reported them. */
  budget(): RequestBudget | undefined;
  toProblem(error: unknown): Problem;
};
