import { parentOf, slugsOf } from '../../contract/asset.ts';
import { classifyStatus } from '../../contract/assumptions.ts';
import type { AssetRecord } from '../../contract/types.ts';
import { asNumber, asText, normalizeName, parseTimestamp } from '../../shared/json-values.ts';
import { digestIn } from '../upload/sources/checksum.ts';

/** Totals of some assets. Null if the service shows the duration, or the size, of none. */
export type AssetTotals = { asset_count: number; duration_seconds: number | null; size_bytes: number | null };

/** One asset with its totals. */
export type CountedAsset = AssetTotals & { uid: string; name: string };

const groupNames = ['folder', 'type', 'status', 'month', 'tag'] as const;
type GroupName = (typeof groupNames)[number];

/** Number of largest and longest assets that are kept. */
const maxTop = 10;

/** Statistics of a library, collected from a list of assets, one after the other. */
export class AssetStats {
  readonly total: AssetTotals = { asset_count: 0, duration_seconds: null, size_bytes: null };
  readonly #groups = Object.fromEntries(groupNames.map((name) => [name, new Map()])) as Record<
    GroupName,
    Map<string | null, AssetTotals>
  >;
  largest: CountedAsset[] = [];
  longest: CountedAsset[] = [];
  readonly notReady: CountedAsset[] = [];
  readonly failed: CountedAsset[] = [];
  readonly #byChecksum = new DuplicateGroups();
  readonly #byNameAndSize = new DuplicateGroups();
  /** Uids of the assets that show a checksum. */
  readonly #withChecksum = new Set<string>();

  /** @param folder uid of the asset's folder, null for the top level, undefined if it is not known */
  add(asset: AssetRecord, folder = parentOf(asset)): void {
    const [duration_seconds = null, size_bytes = null] = [asNumber(asset.duration), asNumber(asset.size)];
    const name = asText(asset.name) ?? '';
    const counted = { uid: asset.uid, name, asset_count: 1, duration_seconds, size_bytes };
    const createdAt = parseTimestamp(asset.created_at);
    const month = createdAt === undefined ? null : new Date(createdAt).toISOString().slice(0, 7);
    const tags = slugsOf(asset);
    const values: Record<GroupName, readonly (string | null)[]> = {
      folder: [folder === null ? '' : (folder ?? null)],
      type: [asText(asset.type) ?? null],
      status: [asText(asset.status) ?? null],
      month: [month],
      tag: tags === undefined ? [null] : tags.length === 0 ? [''] : [...new Set(tags)],
    };
    addTo(this.total, counted);
    for (const group of groupNames)
      for (const value of values[group]) {
        const totals = { asset_count: 0, duration_seconds: null, size_bytes: null };
        this.#groups[group].set(value, addTo(this.#groups[group].get(value) ?? totals, counted));
      }
    this.largest = insert(this.largest, counted, 'size_bytes');
    this.longest = insert(this.longest, counted, 'duration_seconds');
    const state = classifyStatus(asset.status);
    if (state !== 'ready') (state === 'failed' ? this.failed : this.notReady).push(counted);
    const digest = digestIn(asset);
    if (digest !== undefined) {
      this.#withChecksum.add(asset.uid);
      this.#byChecksum.add(digest, counted);
    }
    if (size_bytes !== null && name !== '') this.#byNameAndSize.add(`${size_bytes} ${normalizeName(name)}`, counted);
  }

  /**
   * Returns the totals by the value of a group, which add up to `total`, but for tags, of which an asset can have
   * several; none if no asset shows the value. A month is YYYY-MM, in UTC; a folder is its uid, or '' for the top level;
   * the tag '' has the assets without tags. Null has the assets that do not show it.
   */
  totalsBy(group: GroupName): ReadonlyMap<string | null, AssetTotals> {
    const totals = this.#groups[group];
    return totals.size === 1 && totals.has(null) ? new Map() : totals;
  }

  /** True if duplicates can be told: some asset shows its checksum or its size. */
  get canCompare(): boolean {
    return this.#withChecksum.size > 0 || this.total.size_bytes !== null;
  }

  /** Returns groups of assets with the same content. */
  get sameChecksum(): CountedAsset[][] {
    return this.#byChecksum.groups;
  }

  /** Returns groups of assets with the same name and size, which are likely duplicates, unless checksums decide it. */
  get sameNameAndSize(): CountedAsset[][] {
    return this.#byNameAndSize.groups.filter((assets) => assets.some(({ uid }) => !this.#withChecksum.has(uid)));
  }
}

function addTo(totals: AssetTotals, { duration_seconds, size_bytes }: AssetTotals): AssetTotals {
  totals.asset_count++;
  if (duration_seconds !== null) totals.duration_seconds = (totals.duration_seconds ?? 0) + duration_seconds;
  if (size_bytes !== null) totals.size_bytes = (totals.size_bytes ?? 0) + size_bytes;
  return totals;
}

/** Returns the assets with the highest values, the highest first. */
function insert(top: CountedAsset[], asset: CountedAsset, field: 'size_bytes' | 'duration_seconds'): CountedAsset[] {
  const read = (each: CountedAsset | undefined) => each?.[field] ?? 0;
  if (!read(asset) || (top.length === maxTop && read(asset) <= read(top.at(-1)))) return top;
  return [...top, asset].sort((one, other) => read(other) - read(one)).slice(0, maxTop);
}

/** Groups of assets that have the same key. An array for each of 100,000 keys would double the memory. */
class DuplicateGroups {
  readonly #first = new Map<string, CountedAsset>();
  readonly #several = new Map<string, CountedAsset[]>();

  add(key: string, asset: CountedAsset): void {
    const first = this.#first.get(key);
    if (!first) this.#first.set(key, asset);
    else if (!this.#several.get(key)?.push(asset)) this.#several.set(key, [first, asset]);
  }

  get groups(): CountedAsset[][] {
    return [...this.#several.values()];
  }
}
