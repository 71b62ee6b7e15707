import type { NameOverrides } from '../wire/assumptions.ts';
import { type Collection, paths } from '../wire/paths.ts';
import type { Asset, Page, PlayerData } from '../wire/types.ts';
import { identifier } from './identifier.ts';
import type { ApiRequest } from './messages.ts';
import { itemsOf, mostPagesInFlight, pages, type Window } from './pages.ts';
import type { Transport } from './transport.ts';
import { unexpectedAnswer } from './unexpected-answer.ts';
import { assertTaken, type Fields } from './writes.ts';

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

  async page(filters: AssetFilters, limit: number, offset: number): Promise<Page<Asset>> {
    const page = await this.#transport.json<Page<Asset>>({
      method: 'GET',
      url: paths.collection(this.#collection),
      query: { ...filters, limit, offset },
      purpose: this.#read,
    });
    for (const { uid } of itemsOf<Asset>(page)) identifier(uid);
    return page;
  }

  list(filters: AssetFilters, window: Window): AsyncGenerator<Asset[]> {
    return pages(
      (limit, offset) => this.page(filters, limit, offset),
      window,
      this.#names,
      // Near the end of the window the rest comes one by one: a 429 then stops one request, not eight.
      () => Math.min(mostPagesInFlight, this.#transport.rateLimit?.remaining ?? mostPagesInFlight),
    );
  }

  async get(uid: string): Promise<Asset> {
    const asset = await this.#transport.json<Asset>({
      method: 'GET',
      url: paths.item(this.#collection, identifier(uid)),
      purpose: this.#read,
    });
    identifier(asset.uid);
    return asset;
  }

  async player(uid: string): Promise<PlayerData> {
    const player = await this.#transport.json<PlayerData>({
      method: 'GET',
      url: paths.player(this.#collection, identifier(uid)),
      purpose: this.#read,
    });
    if (typeof player.playback_token === 'string') return player;
    throw unexpectedAnswer('the player data hold no playback token');
  }

  /** PATCH: "partial update of editorial fields" (§4); which ones is A08. */
  updating(uid: string, fields: Fields): ApiRequest {
    return {
      method: 'PATCH',
      url: paths.item(this.#collection, identifier(uid)),
      json: fields,
      purpose: { action: `update ${this.#collection}`, scope: 'Write Assets' },
    };
  }

  /**
   * Updates, and looks at what came of it.
   *
   * @throws MediactlError `write_ignored` where the answer does not show what was asked for
   */
  async update(uid: string, fields: Fields): Promise<Asset> {
    const answer = await this.#transport.json<Asset>(this.updating(uid, fields));
    const isShown = Object.keys(fields).every((field) => field in answer);
    const now = isShown ? answer : await this.get(uid);
    assertTaken(fields, now, 'an asset', 'mediactl assets get ID shows the fields there are');
    return answer;
  }

  /** DELETE: "soft delete" (§4). */
  deleting(uid: string): ApiRequest {
    return {
      method: 'DELETE',
      url: paths.item(this.#collection, identifier(uid)),
      purpose: { action: `delete ${this.#collection}`, scope: 'Delete Assets' },
    };
  }

  async delete(uid: string): Promise<void> {
    await this.#transport.send(this.deleting(uid));
  }

  get #read() {
    return { action: `read ${this.#collection}`, scope: 'Read Assets' } as const;
  }
}
