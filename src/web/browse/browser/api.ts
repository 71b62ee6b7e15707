import type {
  Card,
  CardPage,
  CopiedLinks,
  FolderView,
  GallerySetup,
  PageMove,
  PageSelection,
  Query,
  RequestBudget,
  SeenList,
  SpriteFrame,
} from '../protocol.ts';
import { budgetHeader, gallerySetupId } from '../protocol.ts';
import type { AssetEdit, Problem, SeenFields } from '../server/backend.ts';

export const setup = JSON.parse(document.getElementById(gallerySetupId)?.textContent ?? '') as GallerySetup;

export class PageError extends Error {
  readonly hint: string | undefined;
  /** Value that a field has now, if others have changed it. */
  readonly present: string | undefined;
  /** The list as it is now, if it has changed since all of it was selected. */
  readonly now: SeenList | undefined;
  /** HTTP status; undefined if there was no response. */
  readonly status: number | undefined;

  constructor({ problem, reason, hint, present, now, status }: Partial<Problem> & Pick<Problem, 'problem'>) {
    super(reason ? `${problem}: ${reason}` : problem);
    this.hint = hint;
    this.present = present;
    this.now = now;
    this.status = status;
  }

  /** True if a person has to act first, so that a retry cannot help. */
  get isLasting(): boolean {
    return this.status !== undefined && [400, 401, 403, 422].includes(this.status);
  }
}

export const listeners = { onBudget: (_: RequestBudget) => {} };

async function callApi<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const response = await fetch(setup.base + path, {
    method,
    signal,
    ...(body !== undefined && { body: body instanceof File ? body : JSON.stringify(body) }),
  }).catch((error) => {
    if (signal?.aborted) throw error;
    throw new PageError({ problem: 'mediactl has stopped', hint: `run ${setup.program} browse again` });
  });
  const budget = response.headers.get(budgetHeader);
  if (budget) listeners.onBudget(JSON.parse(budget));
  const isJson = response.headers.get('content-type') === 'application/json';
  const value = isJson
    ? await response.json()
    : { error: { problem: 'this page is locked', hint: `for a new URL, run ${setup.program} browse` } };
  if (response.ok && isJson) return value as T;
  throw new PageError(value.error);
}

const assetPath = (uid: string) => `assets/${encodeURIComponent(uid)}`;

export const fetchCardPage = (
  query: Query,
  limit: number,
  offset: number,
  { isBackground, isFresh, signal }: { isBackground: boolean; isFresh: boolean; signal: AbortSignal },
) => {
  const search = new URLSearchParams({ ...query, limit: String(limit), offset: String(offset) });
  if (isBackground) search.set('looking', '1');
  if (isFresh) search.set('fresh', '1');
  return callApi<CardPage>('GET', `assets?${search}`, undefined, signal);
};

export const fetchCard = (uid: string) => callApi<Card>('GET', assetPath(uid));
export const updateCard = (uid: string, change: AssetEdit) => callApi<Card>('PATCH', assetPath(uid), change);
export const trashCard = (card: Card) => callApi<object>('DELETE', assetPath(card.uid), { from: seenFields(card) });
/** Returns what the page shows of a whole card. A change is refused if that is no longer true. */
const seenFields = ({ uid, name, description, tags, folder }: Card): SeenFields => ({
  ...(name !== uid && { name }), // an asset without a name shows its uid
  description,
  ...(tags && { tags }),
  ...(folder !== undefined && { folder }),
});
export const moveAssets = (uids: readonly string[], folder: string | null) =>
  callApi<PageMove>('POST', 'move', { uids, folder });
export const undoMove = (change: string) => callApi<PageMove>('POST', 'move/undo', { change });
export const fetchUids = (selection: PageSelection) => callApi<string[]>('POST', 'selection', selection);
export const copyLinks = (selection: PageSelection) => callApi<CopiedLinks>('POST', 'links', selection);
export const pick = (selection: PageSelection | null) => callApi<object>('POST', 'pick', selection);
export const resumeUploads = () => callApi<object>('POST', 'uploads/resume');
export const clearEndedUploads = () => callApi<object>('DELETE', 'uploads');
export const fetchWorkspace = () => callApi<{ name: string | null }>('GET', 'workspace');
export const fetchFolderTree = () => callApi<FolderView[]>('GET', 'folders');
export const fetchFrames = (uid: string) => callApi<SpriteFrame[]>('GET', `${assetPath(uid)}/frames`);
export const sheetUrl = (uid: string, sheet: number) => `${setup.base}${assetPath(uid)}/frames/${sheet}`;
export const thumbnailUrl = ({ uid, thumbnail }: Card) => `${setup.base}${assetPath(uid)}/thumbnail?v=${thumbnail}`;
export const downloadUrl = (uid: string) => `${setup.base}${assetPath(uid)}/source`;
export const watchUrl = (uid: string) => `${setup.base}${assetPath(uid)}/watch`;

/** Sends a file to the serving process. Resolves once it has arrived; events report the upload to the service. */
export const sendFile = (file: File, target: { id: string; below: string; folder: string }) => {
  const query = new URLSearchParams({ ...target, name: file.name, size: String(file.size) });
  return callApi<object>('POST', `uploads?${query}`, file);
};
