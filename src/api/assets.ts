import type { NameOverrides } from '../wire/assumptions.ts';
import { type Collection, paths } from '../wire/paths.ts';
import type { Asset, Page, PlayerData } from '../wire/types.ts';
import { pages, type Window } from './pages.ts';
import type { Transport } from './transport.ts';

/** §4 Filters and ordering; `type` and `parent` for assets only. Dates are YYYY-MM-DD. */
export type AssetFilters = {
  search?: string | undefined;
  status?: string | undefined;
  tag?: string | undefined;
  created_after?: string | undefined;
  created_before?: string | undefined;
  ordering?: string | undefined;
  type?: string | undefined;
  parent?: string | undefined;
};

/** §4 Videos and Assets: the same verbs on two collections. */
export class AssetsApi {
  readonly #transport: Transport;
  readonly #collection: Collection;
  readonly #names: NameOverrides;

  constructor(transport: Transport, collection: Collection, names: NameOverrides) {
    this.#transport = transport;
    this.#collection = collection;
    this.#names = names;
  }

  page(filters: AssetFilters, limit: number, offset: number): Promise<Page<Asset>> {
    return this.#transport.json({
      method: 'GET',
      url: paths.collection(this.#collection),
      query: { ...filters, limit, offset },
      purpose: this.#read,
    });
  }

  list(filters: AssetFilters, window: Window): AsyncGenerator<Asset[]> {
    return pages((limit, offset) => this.page(filters, limit, offset), window, this.#names);
  }

  get(uid: string): Promise<Asset> {
    return this.#transport.json({
      method: 'GET',
      url: paths.item(this.#collection, uid),
      purpose: this.#read,
    });
  }

  player(uid: string): Promise<PlayerData> {
    return this.#transport.json({
      method: 'GET',
      url: paths.player(this.#collection, uid),
      purpose: this.#read,
    });
  }

  get #read() {
    return { action: `read ${this.#collection}`, scope: 'Read Assets' } as const;
  }
}
