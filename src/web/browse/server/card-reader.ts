import type { AssetRecord } from '../../../contract/types.ts';
import { systemClock } from '../../../shared/clock.ts';
import { type Card, type CardPage, findUnknownField, type Query, queryFields } from '../protocol.ts';
import { type BrowseBackend, PageProblem } from './backend.ts';
import { fetchCached, TtlCache } from './caches.ts';
import { toCard } from './card.ts';
import type { MediaProxy } from './media-proxy.ts';

const maxCacheEntries = 100;
/** Time-to-live of cached records. Opening an asset reads its record twice. */
const recordTtlMs = 2_000;
/** Time-to-live of cached lists. Going Back to recent filters therefore needs no new request. */
const listTtlMs = 10_000;
/** Maximum characters of a description. Lists truncate it, but the detail view needs its full text for editing. */
const [maxListDescriptionChars, maxDescriptionChars] = [300, 1_000_000];

type ServiceList = Awaited<ReturnType<BrowseBackend['listAssets']>>;

export class CardReader {
  readonly #library: BrowseBackend;
  readonly #media: MediaProxy;
  readonly #records = new TtlCache<Promise<AssetRecord>>(maxCacheEntries);
  #lists = new TtlCache<ServiceList>(maxCacheEntries);

  constructor(library: BrowseBackend, media: MediaProxy) {
    this.#library = library;
    this.#media = media;
  }

  /** Lists assets by the query of the page's request. `fresh` bypasses the cache; `looking` marks a poll. */
  async list(search: URLSearchParams, signal: AbortSignal): Promise<CardPage> {
    const [limit, offset] = [parseCount(search.get('limit'), 100), parseCount(search.get('offset'), 0)];
    const query = parseQuery(search);
    const key = JSON.stringify([query, limit, offset]);
    const lists = this.#lists; // a list that is cleared meanwhile must not be cached
    const cached = search.get('fresh') === '1' ? undefined : lists.get(key);
    if (cached) return this.#toPage(query, cached);
    const isBackground = search.get('looking') === '1';
    const { items, total } = await this.#library.listAssets(query, limit, offset, { isBackground, signal });
    const listed = { items: items.slice(0, limit), total };
    lists.set(key, listed, systemClock.now() + listTtlMs);
    return this.#toPage(query, listed);
  }

  /** Converts what the service has listed. It is not cached, since more may be known of workspaces the next time. */
  async #toPage(query: Query, { items, total }: ServiceList): Promise<CardPage> {
    const { kept, isAll } = await this.#library.keepOwn(query, items);
    this.#media.cacheThumbnails(kept);
    const toListed = (asset: AssetRecord) => toCard(asset, this.#library.baseUrl, maxListDescriptionChars);
    return {
      items: kept.map(toListed),
      total: total ?? null,
      leftOut: items.length - kept.length,
      isAll,
      firstCreatedAt: items.slice(0, 1).map(toListed)[0]?.createdAt ?? null,
    };
  }

  fetchRecord(uid: string): Promise<AssetRecord> {
    const expiresAt = systemClock.now() + recordTtlMs;
    const fetchValue = () => this.#library.get(uid);
    return fetchCached(this.#records, uid, fetchValue, () => expiresAt);
  }

  toFullCard(asset: AssetRecord): Card {
    this.#media.cacheThumbnails([asset]);
    return toCard(asset, this.#library.baseUrl, maxDescriptionChars);
  }

  /** Drops the cached lists, and the records of changed assets. */
  invalidate(...uids: string[]): void {
    this.#lists = new TtlCache(maxCacheEntries);
    for (const uid of uids) this.#records.delete(uid);
  }
}

/** Parses the filters and the order. An unknown field is refused, because without it the list would be another. */
function parseQuery(search: URLSearchParams): Query {
  const problem = findUnknownField(search, ['limit', 'offset', 'fresh', 'looking']);
  if (problem) throw new PageProblem(problem);
  const given = queryFields.map((field) => [field, search.get(field)?.trim()] as const);
  return Object.fromEntries(given.filter(([, value]) => value));
}

const parseCount = (typed: string | null, defaultValue: number) =>
  /^\d{1,9}$/.test(typed ?? '') ? Number(typed) : defaultValue;
