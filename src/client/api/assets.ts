import { slugsOf } from '../../contract/asset.ts';
import { type NameOverrides, namesFor } from '../../contract/assumptions.ts';
import { type Collection, paths } from '../../contract/paths.ts';
import { fieldsIn } from '../../contract/reading.ts';
import { editedSlugs, type SlugEdit } from '../../contract/slug.ts';
import type { Asset, Page, PlayerData } from '../../contract/types.ts';
import { exitCodes, MediactlError } from '../errors.ts';
import { identified, identifier } from '../http/identifier.ts';
import type { ApiRequest } from '../http/messages.ts';
import type { Transport } from '../http/transport.ts';
import { unexpectedAnswer } from '../http/unexpected-answer.ts';
import { identifiedPage, mostPagesInFlight, pages, type Window } from './pages.ts';
import { assertTaken, type Fields, otherNameHint } from './writes.ts';

/** Filters and ordering of a list (§4). `type` and `parent` apply to assets only. Dates are YYYY-MM-DD. */
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

/** Client of the videos and assets endpoints (§4), which are the same on both collections. */
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
    const page = await this.#transport.json({
      method: 'GET',
      url: paths.collection(this.#collection),
      query: { ...filters, limit, offset },
      purpose: this.#read,
    });
    return identifiedPage(page);
  }

  list(filters: AssetFilters, window: Window): AsyncGenerator<Asset[]> {
    return pages(
      (limit, offset) => this.page(filters, limit, offset),
      window,
      this.#names,
      // Fetch sequentially when few requests remain in the rate limit window: a 429 then stops one request instead of
      // eight.
      () => Math.min(mostPagesInFlight, this.#transport.rateLimit?.remaining ?? mostPagesInFlight),
    );
  }

  async get(uid: string): Promise<Asset> {
    const asset = await this.#transport.json({
      method: 'GET',
      url: paths.item(this.#collection, identifier(uid)),
      purpose: this.#read,
    });
    return identified<Asset>(asset);
  }

  async player(uid: string): Promise<PlayerData> {
    const player = await this.#transport.json({
      method: 'GET',
      url: paths.player(this.#collection, identifier(uid)),
      purpose: this.#read,
    });
    const { playback_token } = fieldsIn(player);
    if (typeof playback_token === 'string') return { uid, ...player, playback_token } as PlayerData;
    throw unexpectedAnswer('the player data has no playback token');
  }

  /** Builds the PATCH request: "partial update of editorial fields" (§4). The fields are assumption A08. */
  updating(uid: string, fields: Fields): ApiRequest {
    return {
      method: 'PATCH',
      url: paths.item(this.#collection, identifier(uid)),
      json: fields,
      purpose: { action: `update ${this.#collection}`, scope: 'Write Assets' },
    };
  }

  /**
   * Updates an asset and verifies that the service applied each field.
   *
   * @returns the record, and `unverifiable`: fields that the record does not show
   * @throws MediactlError `write_ignored` if a field is unchanged, or if a field with a guessed name (A08) is
   *   not shown
   */
  async update(uid: string, fields: Fields): Promise<{ asset: Asset; unseen: string[] }> {
    const asset = identified<Asset>(await this.#transport.json(this.updating(uid, fields)));
    const isShown = (record: Asset) => (field: string) => this.#shownAs(field, record) in record;
    const all = Object.keys(fields);
    const now = all.every(isShown(asset)) ? asset : await this.get(uid);
    // A field name given by the user or learned from the service is trusted.
    const unseen = all.filter((field) => !isShown(now)(field) && !this.#isGuessed(field));
    const asked = Object.entries(fields).filter(([field]) => !unseen.includes(field));
    const shown = all.map((field) => [field, now[this.#shownAs(field, now)]] as const);
    assertTaken(
      Object.fromEntries(asked),
      { uid: now.uid, ...Object.fromEntries(shown.filter(([field]) => isShown(now)(field))) },
      'an asset',
      this.#tagsField in fields
        ? `${otherNameHint('asset_tags')}; mediactl doctor --learn asks the service`
        : 'mediactl assets get ID shows the fields there are',
      [this.#tagsField],
    );
    return { asset, unseen };
  }

  /** Builds the fields that replace the tags of an asset. @param tags slugs */
  tagging(tags: readonly string[]): Fields {
    return { [this.#tagsField]: [...tags] };
  }

  /** Builds the fields that add and remove tags. @throws MediactlError if the record does not show its tags */
  retagging(asset: Asset, edit: SlugEdit): Fields {
    const field = this.#tagsField;
    const before = slugsOf(field in asset ? { tags: asset[field] } : asset);
    if (!before) throw tagsUnknown(asset.uid);
    return this.tagging(editedSlugs(before, edit));
  }

  /** Returns the name under which a record shows a field. Tags may be written under another name than they are read. */
  #shownAs(field: string, record: Asset): string {
    return field === this.#tagsField && !(field in record) ? 'tags' : field;
  }

  get #tagsField(): string {
    return namesFor('asset_tags', this.#names)[0] as string;
  }

  /** Returns true if a field name is only our assumption (A08). */
  #isGuessed(field: string): boolean {
    const guesses = this.#names.asset_tags === undefined ? [this.#tagsField] : [];
    return ['name', 'description', ...guesses].includes(field);
  }

  /** Builds the DELETE request: "soft delete" (§4). */
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

const tagsUnknown = (uid: string) =>
  new MediactlError(`asset ${uid} does not show its tags`, {
    code: 'tags_unknown',
    exitCode: exitCodes.rejected,
    reason: 'which ones it would have afterwards depends on those it has',
    hint: `mediactl assets update ${uid} --set-tags SLUGS says all of them`,
  });
