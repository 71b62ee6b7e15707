import type { AssetFilters } from '../../contract/asset-filters.ts';
import { classifyStatus } from '../../contract/assumptions.ts';
import type { Collection } from '../../contract/paths.ts';
import type { AssetRecord } from '../../contract/types.ts';
import type { Clock } from '../../shared/clock.ts';
import { asNumber, asObject, parseTimestamp } from '../../shared/json-values.ts';
import type { AssetsApi } from '../api/assets.ts';
import { itemsOf, maxPageSize } from '../api/pagination.ts';
import { CodedError, ignoreNotFound, usageError } from '../errors.ts';
import { unexpectedResponse } from '../http/error-response.ts';
import { type FetchListPage, findIgnoredFilter } from './filter-checks.ts';
import type { Library } from './library.ts';
import { isOutage } from './wait-for-assets.ts';
import type { ListScope } from './workspace-in-use.ts';

/** Event of an asset. Another process can continue after it from `cursor`. */
export type FollowEvent = { event: 'new' | 'ready' | 'failed'; seen_at: string; cursor: string; asset: AssetRecord };

type FollowStart = {
  clock: Clock;
  signal: AbortSignal;
  /** Cursor of an event, or a time. By default only what is created from now on is new. */
  since: string | undefined;
  onOutage?: (error: unknown) => void;
  /** Leaves out events of assets that are known to be in another workspace. */
  scope: ListScope;
};

/** Time for each request, so that an hour takes 60 of them. */
const requestIntervalMs = 60_000;

/** Maximum number of consecutive polls that an outage ends, each of which includes retries. */
const maxFailures = 10;

/** Yields what becomes new, ready or failed, a batch per poll, until the signal aborts. */
export async function* followAssets(
  { folderReader, api }: Pick<Library, 'folderReader' | 'api'>,
  collection: Collection,
  filters: AssetFilters,
  { clock, signal, since, onOutage, scope }: FollowStart,
): AsyncGenerator<FollowEvent[]> {
  const follower = new AssetFollower(
    api[collection],
    (...page) => folderReader.page(...page, collection),
    filters,
    clock,
    since,
  );
  const elsewhere = new Set<string>();
  for (let failures = 0; ; ) {
    signal.throwIfAborted();
    const startedAt = clock.steady();
    let events: FollowEvent[] = [];
    try {
      events = await follower.poll();
      failures = 0;
    } catch (error) {
      if (!isOutage(error) || ++failures >= maxFailures) throw error;
      onOutage?.(error);
    }
    const shown = await eventsInScope(events, scope, elsewhere);
    if (shown.length > 0) yield shown;
    const pauseMs = follower.requests * requestIntervalMs - (clock.steady() - startedAt);
    await clock.sleep(Math.max(pauseMs, 1_000), signal);
  }
}

/** Leaves out events of assets of other workspaces, each of which `scope` counts once. */
async function eventsInScope(
  events: readonly FollowEvent[],
  scope: ListScope,
  elsewhere: Set<string>,
): Promise<FollowEvent[]> {
  const assets = new Map(events.map(({ asset }) => [asset.uid, asset]));
  for (const uid of elsewhere) assets.delete(uid);
  const kept = new Set((await scope.keepOf([...assets.values()])).map(({ uid }) => uid));
  for (const uid of assets.keys()) if (!kept.has(uid)) elsewhere.add(uid);
  return events.filter(({ asset }) => kept.has(asset.uid));
}

/** Assets that are created this much before the newest one may appear after it: services have several clocks. */
const overlapMs = 10 * 60_000;

/** Maximum number of unready assets that a cursor names. */
const maxNamed = 100;

/** Maximum number of assets that a poll reads one by one, because they are further down the list. */
const maxReadAlone = 10;

/** Part of the time that an asset has been unready, after which it is read again if it is further down the list. */
const rereadRatio = 0.1;

/** An asset that is neither ready nor failed, and the times at which it was first and last seen. */
type Unready = { createdAt: number; since: number; readAt: number };

/** Place in a list of assets by creation: everything that was created before has been reported. */
class AssetFollower {
  /** Requests of the latest poll. */
  requests = 0;
  readonly #assets: AssetsApi;
  readonly #fetchPage: FetchListPage;
  readonly #filters: AssetFilters;
  readonly #clock: Clock;
  /** Creation time of the newest asset that was reported; undefined before the first poll. */
  #newest: number | undefined;
  /** Assets created before this time are not reported as new. */
  #floor = 0;
  /** Creation times of the assets that are known and not older than the floor. */
  readonly #known = new Map<string, number>();
  readonly #unready = new Map<string, Unready>();
  /** Assets created from this time on are examined by the first poll, although they are known. */
  #examineFrom = Number.POSITIVE_INFINITY;

  /** @throws CodedError `usage` (exit 2) if `since` is neither a cursor nor a time */
  constructor(
    assets: AssetsApi,
    fetchPage: FetchListPage,
    filters: AssetFilters,
    clock: Clock,
    since: string | undefined,
  ) {
    this.#assets = assets;
    this.#fetchPage = fetchPage;
    this.#filters = { ...filters, ordering: '-created_at' };
    this.#clock = clock;
    if (since === undefined) return;
    const { time, known, unready, examineFrom } = parseCursor(since);
    this.#newest = time;
    this.#floor = time;
    for (const uid of known) this.#known.set(uid, time);
    for (const uid of unready) this.#unready.set(uid, { createdAt: time, since: clock.now(), readAt: 0 });
    this.#examineFrom = examineFrom ?? this.#examineFrom;
  }

  async poll(): Promise<FollowEvent[]> {
    this.requests = 0;
    const isFirst = this.#newest === undefined;
    const found = await this.#readPages(isFirst);
    const listed = [...found.values()].reverse();
    const events: FollowEvent[] = [];
    if (isFirst) this.#begin(listed);
    else {
      for (const asset of listed.filter((each) => this.#unready.has(each.uid))) this.#settle(asset, events);
      for (const asset of listed) this.#add(asset, events);
      await this.#readOthers(found, events).catch((error: unknown) => {
        if (events.length === 0) throw error; // the next poll reads them again
      });
    }
    this.#examineFrom = Number.POSITIVE_INFINITY;
    this.#floor = Math.max(this.#floor, (this.#newest ?? 0) - overlapMs);
    for (const [uid, createdAt] of this.#known) if (createdAt < this.#floor) this.#known.delete(uid);
    return events;
  }

  /** Takes the newest assets as known. */
  #begin(listed: readonly AssetRecord[]): void {
    this.#newest = 0;
    for (const asset of listed) this.#remember(asset, classifyStatus(asset.status) === 'in progress');
    if (listed.length > 0) this.#floor = Math.min(...listed.map(createdAtOf));
  }

  #remember(asset: AssetRecord, isUnready: boolean): void {
    const [createdAt, now] = [createdAtOf(asset), this.#clock.now()];
    this.#newest = Math.max(this.#newest ?? 0, createdAt);
    this.#known.set(asset.uid, createdAt);
    if (isUnready) this.#unready.set(asset.uid, { createdAt, since: now, readAt: now });
  }

  /** Reports an asset if it is new, and if it is ready or failed, too. */
  #add(asset: AssetRecord, events: FollowEvent[]): void {
    const uid = asset.uid;
    const createdAt = createdAtOf(asset);
    const isNew = createdAt >= this.#floor && !this.#known.has(uid);
    if (!isNew && !(createdAt >= this.#examineFrom && !this.#unready.has(uid))) return;
    this.#remember(asset, true); // until it is settled below, so that the cursor of `new` leads to `ready`
    if (isNew) this.#report('new', asset, events);
    this.#settle(asset, events);
  }

  #settle(asset: AssetRecord, events: FollowEvent[]): void {
    const uid = asset.uid;
    const status = classifyStatus(asset.status);
    const state = this.#unready.get(uid);
    if (state) state.readAt = this.#clock.now();
    if (!state || status === 'in progress') return;
    this.#unready.delete(uid);
    this.#report(status, asset, events);
  }

  #report(event: FollowEvent['event'], asset: AssetRecord, events: FollowEvent[]): void {
    events.push({ event, seen_at: new Date(this.#clock.now()).toISOString(), cursor: this.#cursor(), asset });
  }

  #cursor(): string {
    const newest = this.#newest ?? 0;
    const known = [...this.#known].filter(([, createdAt]) => createdAt === newest).map(([uid]) => uid);
    const unready = [...this.#unready.values()];
    const tail =
      unready.length > maxNamed
        ? new Date(Math.min(...unready.map(({ createdAt }) => createdAt))).toISOString()
        : [...this.#unready.keys()].join(',');
    return [new Date(newest).toISOString(), known.join(','), tail].join('/').replace(/\/+$/, '');
  }

  /** Reads pages from the newest on: all that may be new, and further as long as several unready assets are found. */
  async #readPages(isFirst: boolean): Promise<Map<string, AssetRecord>> {
    const found = new Map<string, AssetRecord>();
    const lowest = Math.min(this.#floor, this.#examineFrom);
    for (let offset = 0; ; ) {
      this.requests++;
      const page = await this.#fetchPage(this.#filters, maxPageSize, offset);
      const items = itemsOf<AssetRecord>(page);
      assertListed(this.#filters, items);
      const before = found.size;
      for (const asset of items) found.set(asset.uid, asset);
      offset += items.length;
      const hasEnded =
        found.size === before || asObject(page).next === null || offset === asNumber(asObject(page).count);
      if (isFirst || hasEnded) return found;
      const oldest = createdAtOf(items.at(-1) as AssetRecord);
      const hasMatch = items.some(({ uid }) => this.#unready.has(uid));
      const missing = [...this.#unready.keys()].filter((uid) => !found.has(uid)).length;
      if (oldest < lowest && !(hasMatch && missing > maxReadAlone)) return found;
    }
  }

  /** Reads unready assets that the pages did not have, one by one, the more rarely the longer they have been unready. */
  async #readOthers(found: ReadonlyMap<string, AssetRecord>, events: FollowEvent[]): Promise<void> {
    const now = this.#clock.now();
    const due = [...this.#unready]
      .filter(([uid, { since, readAt }]) => !found.has(uid) && now - readAt >= (now - since) * rereadRatio)
      .sort(([, one], [, other]) => one.readAt - other.readAt);
    for (const [uid, state] of due.slice(0, maxReadAlone)) {
      this.requests++;
      state.readAt = now;
      const asset = await this.#assets.get(uid).catch(ignoreNotFound);
      if (asset) this.#settle(asset, events);
      else this.#unready.delete(uid); // it was deleted, which a list does not show
    }
  }
}

/** @throws CodedError `invalid_response` (exit 10), since only by its creation an asset is known to be new */
function createdAtOf(asset: AssetRecord): number {
  const createdAt = parseTimestamp(asset.created_at);
  if (createdAt !== undefined) return createdAt;
  throw unexpectedResponse(`asset ${asset.uid} does not show when it was created`, {
    reason: 'new assets are found by their created_at',
  });
}

/** @throws CodedError `filter_ignored` (exit 6) for a list of other assets, or one that does not begin with the newest */
function assertListed(filters: AssetFilters, items: readonly AssetRecord[]): void {
  const ignored = (filter: string, reason: string, hint?: string) =>
    new CodedError(`the service ignored a filter: ${filter}`, { code: 'filter_ignored', reason, hint });
  const wrong = findIgnoredFilter(filters, items);
  if (wrong) throw ignored(wrong.filter, `it lists ${wrong.uid}, which does not match`, 'follow without this filter');
  const [first, last] = [items[0], items.at(-1)];
  if (first && last && createdAtOf(first) < createdAtOf(last))
    throw ignored('ordering', `it lists ${first.uid} before ${last.uid}, which is newer`, 'list all from time to time');
}

/** Parses a cursor, `TIME/uids of that time/unready uids`, or `TIME/…/TIME` if too many were unready; or a time. */
function parseCursor(text: string) {
  const [time = '', known = '', tail = ''] = text.split('/');
  const parseUids = (uids: string) => uids.split(',').filter((uid) => uid !== '');
  const examineFrom = parseTimestamp(tail);
  const unready = examineFrom === undefined ? parseUids(tail) : [];
  const uids = [...parseUids(known), ...unready];
  const at = parseTimestamp(time);
  if (at === undefined || !uids.every((uid) => /^[\w-]{1,100}$/.test(uid)))
    throw usageError(
      `'${text.slice(0, 60)}' is no cursor`,
      'use the cursor of an event, or a time such as 2026-01-31T09:00:00Z',
    );
  return { time: at, known: parseUids(known), unready, examineFrom };
}
