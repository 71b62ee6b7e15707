import { findParentField, parentOf, slugsOf } from '../../contract/asset.ts';
import { type AssetFilters, activeFilters } from '../../contract/asset-filters.ts';
import { shownWorkspace } from '../../contract/asset-workspace.ts';
import { fieldNamesFor, type NameOverrides } from '../../contract/assumptions.ts';
import { type Collection, paths } from '../../contract/paths.ts';
import type { AssetRecord, PageEnvelope, PlayerData } from '../../contract/types.ts';
import { isSameUid } from '../../contract/uid.ts';
import { asObject, type JsonObject } from '../../shared/json-values.ts';
import { CodedError, usageError } from '../errors.ts';
import type { ApiRequest } from '../http/api-request.ts';
import { unexpectedResponse } from '../http/error-response.ts';
import type { Transport } from '../http/transport.ts';
import { closestSpellings } from '../spelling.ts';
import { fetchPages, itemsOf, type ListGap, type ListWindow, maxPagesInFlight, parsePage } from './pagination.ts';
import { deleteRequest, parseIdentifier, parseRecord, Resource, readPurpose, writeRequest } from './resource.ts';
import { findDifferences } from './write-check.ts';

/**
 * Returns the searches that find a name: one for each way to encode its accents, since a service may compare them as they
 * are. Returns none for a name without letters or digits, which cannot be searched for.
 */
export const searchesFor = (name: string): { search: string }[] =>
  /[\p{L}\p{N}]/u.test(name)
    ? [...new Set([name, name.normalize('NFC'), name.normalize('NFD')])].map((search) => ({ search }))
    : [];

/** Functions that the opener of an API client provides for its lists. */
export type ListPorts = {
  /**
   * Returns the workspace that the filter `parent` selects from: "a parent folder uid in the primary workspace" (§4).
   * Called before each request with that filter. @returns undefined if any may be meant @throws an error to stop it
   */
  findParentWorkspace?: (() => Promise<string | undefined>) | undefined;
  /** Called with each list of assets that lacks items of its own total. */
  onGap?: ((gap: ListGap) => void) | undefined;
};

/**
 * Returns the error for a filter value that a service refuses and that is none of the assumed values; undefined for other
 * errors. The value is sent first, since a service may have others (assumptions A11 and A12).
 */
function refusedFilter(thrown: unknown, filters: AssetFilters): CodedError | undefined {
  const { status, reason, fields = [], isUnattributed } = thrown instanceof CodedError ? thrown.explanation : {};
  if (isUnattributed || (status !== 400 && status !== 422)) return undefined;
  const isRefused = (name: string) => fields.length === 0 || fields.includes(name);
  const refused = activeFilters(filters).find(
    ({ name, values, value }) => values !== undefined && !values.includes(value) && isRefused(name),
  );
  if (!refused) return undefined;
  const { name, value, values = [] } = refused;
  const similar = closestSpellings(value.toLowerCase(), values);
  return new CodedError(`the service does not accept the ${name} '${value}'`, {
    code: 'usage',
    status,
    reason,
    hint: similar.length > 0 ? `did you mean ${similar.join(' or ')}?` : `use one of ${values.join(', ')}`,
  });
}

/** Filters of a list that is not of one folder: that of a folder is read by `FolderReader`. */
export type ListFilters = AssetFilters & { parent?: undefined };

/**
 * Client of the videos and assets endpoints (§4), which are the same for both collections.
 *
 * @template Filters those of its lists
 */
export class AssetsApi<Filters extends AssetFilters = ListFilters> extends Resource {
  readonly #collection: Collection;
  readonly #ports: ListPorts;

  constructor(transport: Transport, names: NameOverrides, collection: Collection = 'assets', ports: ListPorts = {}) {
    super(transport, names);
    this.#collection = collection;
    this.#ports = ports;
  }

  /**
   * @throws CodedError `usage` (exit 2) for several tags, since the API filters by "tag slug" (§4); `filter_ignored`
   *   (exit 6) if a listed asset shows another workspace than that of `parent`; `usage` too for a value that the service
   *   refuses and that no known service has
   */
  async page(filters: Filters, limit: number, offset: number): Promise<PageEnvelope<AssetRecord>> {
    if (filters.tag?.includes(','))
      throw usageError(`a list cannot be filtered by several tags: ${filters.tag}`, 'give one of them');
    const workspace = filters.parent === undefined ? undefined : await this.#ports.findParentWorkspace?.();
    const query = { ...filters, limit, offset };
    const body = await this.read(paths.collection(this.#collection), this.#read, query).catch((thrown: unknown) => {
      throw refusedFilter(thrown, filters) ?? thrown;
    });
    const page = parsePage<AssetRecord>(body);
    if (workspace === undefined) return page;
    const shownOf = (asset: AssetRecord) => shownWorkspace(asset, this.names).uids;
    const isElsewhere = (uids: readonly string[]) => uids.length > 0 && !uids.some((uid) => isSameUid(uid, workspace));
    const other = itemsOf<AssetRecord>(page).find((asset) => isElsewhere(shownOf(asset)));
    if (!other) return page;
    throw new CodedError('the service lists a folder of another workspace', {
      code: 'filter_ignored',
      reason: `asset ${other.uid} is in workspace ${shownOf(other).join(', ')}`,
      remedy: ['use_uids'],
    });
  }

  list(filters: Filters, window: ListWindow): AsyncGenerator<AssetRecord[]> {
    return fetchPages(
      (limit, offset) => this.page(filters, limit, offset),
      { onGap: this.#ports.onGap, ...window },
      this.names,
      // Fetch fewer pages at once when few requests remain in the rate limit window, so that a 429 stops one request
      // instead of eight.
      () => Math.min(maxPagesInFlight, this.transport.connection.rateLimit?.remaining ?? maxPagesInFlight),
    );
  }

  /**
   * Lists what the searches for a name find, each asset once, or everything for a name that cannot be searched for. Their
   * names are to be compared with `normalizeName`.
   */
  async *listNamed(name: string, filters: Filters, window: ListWindow): AsyncGenerator<AssetRecord[]> {
    const listed = new Set<string>();
    const searches = searchesFor(name);
    for (const search of searches.length > 0 ? searches : [{}])
      for await (const page of this.list({ ...filters, ...search }, window)) {
        yield page.filter(({ uid }) => !listed.has(uid));
        for (const { uid } of page) listed.add(uid);
      }
  }

  async get(uid: string): Promise<AssetRecord> {
    return parseRecord<AssetRecord>(await this.read(this.#path(uid), this.#read));
  }

  async player(uid: string): Promise<PlayerData> {
    const player = await this.read(paths.player(this.#collection, parseIdentifier(uid)), this.#read);
    const { playback_token } = asObject(player);
    if (typeof playback_token === 'string') return { uid, ...player, playback_token } as PlayerData;
    throw unexpectedResponse('the player data has no playback token');
  }

  /** Builds the PATCH request ("partial update of editorial fields", §4). Its field names are assumption A08. */
  updateRequest(uid: string, fields: JsonObject): ApiRequest {
    return writeRequest('PATCH', this.#path(uid), fields, `update ${this.#collection}`);
  }

  /** Builds the PATCH fields that replace all tags of an asset with the given slugs. */
  tagFields(tags: readonly string[]): JsonObject {
    return { [this.tagsField]: [...new Set(tags)] };
  }

  /** Returns the slugs of the tags that a record shows; undefined if it shows none, or not all of their slugs. */
  tagsOf(asset: AssetRecord): string[] | undefined {
    return slugsOf({ tags: asset[this.fieldNameIn(this.tagsField, asset)] });
  }

  /** Returns the tags in values as `valuesOf` returns them; undefined if there are none. */
  tagsIn(values: JsonObject): string[] | undefined {
    return slugsOf({ tags: values[this.tagsField] });
  }

  /** Builds the PATCH fields that move an asset to a folder, given by uid, or to the top level (assumption A20). */
  folderFields(asset: AssetRecord, folder: string | null): JsonObject {
    return { [this.folderFieldIn(asset)]: folder };
  }

  /** Returns the values of fields as a PATCH sets them. Leaves out those that the record does not show. */
  valuesOf(asset: AssetRecord, fields: readonly string[]): JsonObject {
    const folderField = this.folderFieldIn(asset);
    const read = (field: string) => {
      const value = asset[this.fieldNameIn(field, asset)];
      if (value === null && (field === 'name' || field === 'description')) return ''; // a PATCH may not accept null
      if (field === folderField) return parentOf({ uid: asset.uid, parent: value });
      return field === this.tagsField ? slugsOf({ tags: value }) : value;
    };
    const shown = fields.map((field) => [field, read(field)] as const).filter(([, value]) => value !== undefined);
    return Object.fromEntries(shown);
  }

  /**
   * Returns the values that people edit, as `valuesOf` does: the name, the description, the tags, the folder, and other
   * texts and flags. What a service sets by itself, such as a status, a URL, a time or a count, is left out.
   */
  editorialValues(asset: AssetRecord): JsonObject {
    const isOwn = (field: string) =>
      /^(uid|type|status|workspace.*|filename|.*(_at|url|token|reason|_type))$/.test(field);
    const others = Object.entries(asset)
      .filter(([field, value]) => (typeof value === 'string' || typeof value === 'boolean') && !isOwn(field))
      .map(([field]) => field);
    const named = ['name', 'description', this.tagsField, this.folderFieldIn(asset)];
    return this.valuesOf(asset, [...new Set([...named, ...others])]);
  }

  /** Returns the folder that fields set: null for the top level, undefined if they set none. */
  folderIn(fields: JsonObject): string | null | undefined {
    const { asset_parent: name } = this.names;
    return parentOf({ uid: '', ...(name === undefined ? fields : name in fields ? { parent: fields[name] } : {}) });
  }

  /** Returns the fields of `one` whose value differs in `other`, both as `valuesOf` returns them. */
  findDifferences(one: JsonObject, other: JsonObject): string[] {
    return findDifferences(one, other, [this.tagsField]);
  }

  /** Returns the name of an asset's folder field: declared in the profile, shown in the record, or assumed. */
  protected folderFieldIn(asset: AssetRecord): string {
    const [assumed = 'parent'] = fieldNamesFor('asset_parent', this.names);
    return this.names.asset_parent ?? findParentField(asset) ?? assumed;
  }

  /** Returns the name under which a record shows a field. Tags can have one name in requests and another in records. */
  protected fieldNameIn(field: string, record: AssetRecord): string {
    return field === this.tagsField && !(field in record) ? 'tags' : field;
  }

  protected get tagsField(): string {
    return fieldNamesFor('asset_tags', this.names)[0] as string;
  }

  /** Returns true if the name of a field is only an assumption (A08), not configured in the profile. */
  protected isAssumedName(field: string): boolean {
    const isTags = field === this.tagsField && this.names.asset_tags === undefined;
    return isTags || field === 'name' || field === 'description';
  }

  /** Builds the DELETE request ("soft delete", §4). */
  deleteRequest(uid: string): ApiRequest {
    return deleteRequest(this.#path(uid), this.#collection);
  }

  #path(uid: string): string {
    return paths.item(this.#collection, parseIdentifier(uid));
  }

  get #read() {
    return readPurpose(this.#collection);
  }
}
