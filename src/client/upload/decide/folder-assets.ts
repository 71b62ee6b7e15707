import { type ListedAsset, parentOf, toListedAsset } from '../../../contract/asset.ts';
import type { AssetFilters } from '../../../contract/asset-filters.ts';
import type { AssetRecord } from '../../../contract/types.ts';
import { isSameUid, normalizeUid } from '../../../contract/uid.ts';
import { asText, normalizeName, parseTimestamp } from '../../../shared/json-values.ts';
import { searchesFor } from '../../api/assets.ts';
import { itemsOf, maxPageSize } from '../../api/pagination.ts';
import { ignoreNotFound } from '../../errors.ts';
import { FolderReader } from '../../library/folder-reader.ts';
import type { ReceiptKey } from '../sources/upload-file.ts';
import type { MatcherDeps } from './matcher.ts';

/** Number of concurrent searches. */
const lanes = 8;
const dayMs = 86_400_000;
const maxPagesWithoutNotice = 10;

type FolderKey = Omit<ReceiptKey, 'realPath'>;

/** Possible names of the asset of a file. */
type Names = ReadonlySet<string>;

/** Lists the assets of folders that files may have, with as few requests as possible, and keeps their records. */
export class FolderAssets {
  readonly #deps: MatcherDeps;
  readonly #reader: FolderReader;
  /** Records that this run has fetched, by uid. */
  readonly #records = new Map<string, AssetRecord>();

  constructor(deps: MatcherDeps) {
    const { library } = deps.comparison;
    this.#deps = deps;
    this.#reader = new FolderReader(deps.api, async () => (await library.folders()).tree);
  }

  /** Returns the record of an asset that was listed or fetched. */
  find(uid: string): AssetRecord | undefined {
    return this.#records.get(uid);
  }

  /** Returns an asset's record, which a cached listing does not have. */
  async read(uid: string): Promise<AssetRecord | undefined> {
    const asset = this.#records.get(uid) ?? (await this.#deps.api.assets.get(uid).catch(ignoreNotFound));
    if (asset) this.#records.set(uid, asset);
    else this.#deps.note({ record: 'forgotten', assetUid: uid });
    return asset;
  }

  /**
   * Lists the assets of a folder that might have the name of a file. The first time, reads all pages, or searches for
   * each name if that takes fewer requests. Later, reads only what was created since.
   *
   * @param names possible names of each file
   * @param others uids of assets that may be a file's under another name
   */
  async list(place: FolderKey, names: readonly Names[], others: readonly string[]): Promise<ListedAsset[]> {
    const parent = place.folder || 'root';
    const known = this.#deps.comparison.listed;
    if (known) return this.#remember(place, known.get(normalizeUid(place.folder)) ?? []);
    const cached = await this.#deps.receipts?.findListing(place);
    const searched = !cached && names.length === 1 ? await this.#search(parent, names, others) : undefined;
    if (searched) return searched;
    const listed: AssetRecord[] = [];
    let pages = 0;
    const onTotal = (total = 0) => {
      pages = Math.ceil(total / maxPageSize);
      if (pages > maxPagesWithoutNotice && (cached || pages <= names.length + 1))
        this.#deps.notify({ notice: 'listing', assets: total });
    };
    const created = cached && { created_after: cached.since };
    for await (const page of this.#reader.list({ parent, ...created }, { onTotal })) {
      const isFirst = listed.length === 0;
      listed.push(...page);
      if (!isFirst || cached || pages <= names.length + 1) continue;
      const byName = await this.#search(parent, names, others);
      if (byName) return byName;
    }
    const assets = this.#remember(place, await this.#reader.directly(parent, listed), cached?.since);
    return [...new Map([...(cached?.assets ?? []), ...assets].map((asset) => [asset.uid, asset])).values()];
  }

  /** Keeps the records of all assets of a folder, and notes the listing. @param before day from which it was listed */
  #remember(key: FolderKey, found: readonly AssetRecord[], before?: string): ListedAsset[] {
    const assets = this.#keepRecords(found);
    const since = sinceDay(found, this.#deps.api.transport.clock.now()) ?? before;
    if (since !== undefined) this.#deps.note({ record: 'listing', key, listing: { since, assets } });
    return assets;
  }

  /**
   * Searches for the name of each file, with one page for each.
   *
   * @returns undefined if that does not find all of them, because a name cannot be searched for or is too common
   */
  async #search(
    parent: string,
    wanted: readonly Names[],
    others: readonly string[],
  ): Promise<ListedAsset[] | undefined> {
    const names = new Set(wanted.flatMap((each) => [...each]));
    const isNamed = ({ name }: AssetRecord) => names.has(normalizeName(asText(name) ?? ''));
    const searches = wanted.map(searchesOf);
    const queue = searches.flat();
    if (searches.some(({ length }) => length === 0)) return undefined;
    const found: AssetRecord[] = [];
    let isComplete = true;
    const searchNext = async () => {
      for (let filters = queue.pop(); filters; filters = queue.pop()) {
        const items = itemsOf<AssetRecord>(await this.#reader.page({ parent, ...filters }, maxPageSize, 0));
        const named = items.filter(isNamed);
        found.push(...named);
        if (items.length === maxPageSize && named.length === 0) isComplete = false;
      }
    };
    await Promise.all(Array.from({ length: lanes }, searchNext));
    if (!isComplete) return undefined;
    const uids = new Set(found.map(({ uid }) => normalizeUid(uid)));
    const listed = this.#keepRecords(await this.#reader.directly(parent, found));
    for (const other of others.filter((uid) => !uids.has(normalizeUid(uid)))) {
      const asset = await this.read(other);
      const shown = asset && parentOf(asset);
      if (asset && shown !== undefined && isSameUid(shown ?? 'root', parent)) listed.push(toListedAsset(asset));
    }
    return listed;
  }

  #keepRecords(assets: readonly AssetRecord[]): ListedAsset[] {
    for (const asset of assets) this.#records.set(asset.uid, asset);
    return assets.map(toListedAsset);
  }
}

/** Returns the searches for a file's name, without extension as the service might have removed it. */
function searchesOf(names: Names): AssetFilters[] {
  const searches = [...names].reverse().map(searchesFor);
  return searches.find(({ length }) => length > 0) ?? [];
}

/** Returns the day before the newest asset was created; undefined if one does not show when. */
function sinceDay(assets: readonly AssetRecord[], now: number): string | undefined {
  let newest = Number.NEGATIVE_INFINITY;
  for (const { created_at } of assets) {
    const time = parseTimestamp(created_at);
    if (time === undefined) return undefined;
    newest = Math.max(newest, Math.min(time, now)); // a date in the future would hide all that comes before it
  }
  return Number.isFinite(newest) ? new Date(newest - dayMs).toISOString().slice(0, 10) : undefined;
}
