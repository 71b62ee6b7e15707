import type { SlugEdit } from '../../../contract/slug.ts';
import {
  type Budget,
  budgetHeader,
  type Card,
  type CardPage,
  type FolderView,
  type Frame,
  type Query,
  type Setup,
  setupId,
} from '../protocol.ts';

export const setup = JSON.parse(document.getElementById(setupId)?.textContent ?? '') as Setup;

/** Error as reported by the serving process. */
export class PageError extends Error {
  readonly hint: string | undefined;

  constructor({ problem, reason, hint }: { problem: string; reason?: string; hint?: string }) {
    super(reason ? `${problem}: ${reason}` : problem);
    this.hint = hint;
  }
}

type Listener = (budget: Budget) => void;
let onBudget: Listener = () => {};
/** Sets the callback for updates of the rate limit. */
export const whenBudgetChanges = (listener: Listener) => {
  onBudget = listener;
};

async function call<T>(
  method: string,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<T> {
  const response = await fetch(setup.base + path, {
    method,
    signal,
    ...(body !== undefined && { body: body instanceof File ? body : JSON.stringify(body) }),
  }).catch((error) => {
    if (signal?.aborted) throw error;
    throw new PageError({ problem: 'mediactl has ended', hint: 'run mediactl browse again' });
  });
  const budget = response.headers.get(budgetHeader);
  if (budget) onBudget(JSON.parse(budget));
  const isJson = response.headers.get('content-type') === 'application/json';
  const value = isJson
    ? await response.json()
    : { error: { problem: 'this page is locked', hint: 'open it anew: mediactl browse' } };
  if (response.ok && isJson) return value as T;
  throw new PageError(value.error);
}

const asset = (uid: string) => `assets/${encodeURIComponent(uid)}`;

export const listPage = (
  query: Query,
  limit: number,
  offset: number,
  { isLooking, isFresh, signal }: { isLooking: boolean; isFresh: boolean; signal: AbortSignal },
) => {
  const search = new URLSearchParams({ ...query, limit: String(limit), offset: String(offset) });
  if (isLooking) search.set('looking', '1');
  if (isFresh) search.set('fresh', '1');
  return call<CardPage>('GET', `assets?${search}`, undefined, signal);
};

export const getCard = (uid: string) => call<Card>('GET', asset(uid));
export const changeCard = (
  uid: string,
  change: { name?: string; description?: string; tags?: SlugEdit; folder?: string | null },
) => call<Card>('PATCH', asset(uid), change);
export const trashCard = (uid: string) => call<object>('DELETE', asset(uid));
export const clearEnded = () => call<object>('DELETE', 'uploads');
export const folderTree = () => call<FolderView[]>('GET', 'folders');
export const framesOf = (uid: string) => call<Frame[]>('GET', `${asset(uid)}/frames`);
export const sheetUrl = (uid: string, sheet: number) =>
  `${setup.base}${asset(uid)}/frames/${sheet}`;
export const thumbnailUrl = ({ uid, thumbnail }: Card) =>
  `${setup.base}${asset(uid)}/thumbnail?v=${thumbnail}`;
export const downloadUrl = (uid: string) => `${setup.base}${asset(uid)}/source`;
export const watchUrl = (uid: string) => `${setup.base}${asset(uid)}/watch`;

/** Sends a file to the serving process. Resolves once it has arrived; the upload itself is reported by events. */
export const sendFile = (file: File, where: { id: string; below: string; folder: string }) => {
  const query = new URLSearchParams({ ...where, name: file.name, size: String(file.size) });
  return call<object>('POST', `uploads?${query}`, file);
};
