import { itemsOf, totalOf } from '../../../client/api/pagination.ts';
import type { Library } from '../../../client/library/library.ts';
import { type SelectionPorts, selectAssets } from '../../../client/library/select-assets.ts';
import type { AssetRecord } from '../../../contract/types.ts';
import { normalizeUid } from '../../../contract/uid.ts';
import { parseTimestamp } from '../../../shared/json-values.ts';
import type { PageSelection, Query, SeenList } from '../../../web/browse/protocol.ts';
import { PageProblem, type PickedAssets } from '../../../web/browse/server/backend.ts';

/** Maximum number of records to remember of what the page has listed. */
const maxRecords = 5_000;

type ListState = Pick<SeenList, 'total' | 'newest'>;

/**
 * Finds the assets of the page's selections. All of a list is read once: as long as its total and its newest asset stay, it
 * is the same list, which costs one request to see.
 */
export class PageSelections {
  readonly #library: Library;
  readonly #ports: SelectionPorts;
  readonly #records = new Map<string, AssetRecord>();
  #resolved: { key: string; assets: readonly AssetRecord[] } | undefined;

  constructor(library: Library, ports: SelectionPorts) {
    this.#library = library;
    this.#ports = ports;
  }

  remember(records: readonly AssetRecord[]): void {
    for (const record of records) {
      const uid = normalizeUid(record.uid);
      this.#records.delete(uid);
      this.#records.set(uid, record);
    }
    for (const uid of this.#records.keys())
      if (this.#records.size > maxRecords) this.#records.delete(uid);
      else break;
  }

  /** Forgets what was read, since an asset is changed. */
  forget(uid: string): void {
    this.#records.delete(normalizeUid(uid));
    this.#resolved = undefined;
  }

  /** Returns the assets of a selection. @throws PageProblem 409 if the list is not as it was seen */
  async resolve(selection: PageSelection): Promise<PickedAssets> {
    if ('uids' in selection) {
      const assets = selection.uids.map((uid) => this.#records.get(normalizeUid(uid)) ?? { uid });
      return { assets, isByFilter: false };
    }
    const { query, except, seen } = selection;
    const state = await this.#readState(query);
    if (state.newest !== seen.newest || (seen.total !== null && seen.total !== state.total)) {
      const count = state.total === null ? null : Math.max(0, state.total - except.length);
      throw changedList({ ...state, count });
    }
    const excluded = new Set(except.map(normalizeUid));
    const all = await this.#listAll(query, state, seen.total !== null);
    const assets = all.filter(({ uid }) => !excluded.has(normalizeUid(uid)));
    if (seen.count !== null && seen.count !== assets.length) throw changedList({ ...state, count: assets.length });
    return { assets, isByFilter: true };
  }

  /** Reads the total and the newest asset of a list in one request. */
  async #readState(query: Query): Promise<ListState> {
    const page = await this.#library.folderReader.page({ ...query, ordering: '-created_at' }, 1, 0);
    const newest = parseTimestamp(itemsOf<AssetRecord>(page)[0]?.created_at);
    return {
      total: totalOf(page, this.#library.api.names) ?? null,
      newest: newest === undefined ? null : new Date(newest).toISOString(),
    };
  }

  async #listAll(query: Query, state: ListState, isTotalKnown: boolean): Promise<readonly AssetRecord[]> {
    const key = JSON.stringify([Object.entries(query).sort(), state]);
    if (isTotalKnown && this.#resolved?.key === key) return this.#resolved.assets;
    // The list ends at its total: with one more asked for, an empty page would be read. The newest tells if one came since.
    const maxCount = isTotalKnown && state.total ? state.total - 1 : undefined;
    const request = { collection: 'assets', purpose: 'read', ids: undefined, filters: query, maxCount } as const;
    const { assets } = await selectAssets(this.#library, { ...request, verb: 'browse' }, this.#ports);
    const records = assets.map(({ uid, record }) => record ?? { uid });
    const times = records.flatMap(({ created_at }) => parseTimestamp(created_at) ?? []);
    const newest = times.reduce((latest, time) => Math.max(latest, time), 0);
    if (maxCount !== undefined && state.newest !== null && newest > Date.parse(state.newest))
      throw changedList({ ...(await this.#readState(query)), count: null });
    this.#resolved = { key, assets: records };
    return records;
  }
}

const changedList = (now: SeenList) => new PageProblem('the list has changed since it was shown', 409, now);

/** Returns true if more than the uid of an asset is known. */
export const isListed = (asset: AssetRecord) => Object.keys(asset).length > 1;
