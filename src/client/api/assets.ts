import { findParentField, parentOf, slugsOf, workspaceOf } from '../../contract/asset.ts';
import type { AssetFilters } from '../../contract/asset-filters.ts';
import { fieldNamesFor, type NameOverrides } from '../../contract/assumptions.ts';
import { asObject, asText, type JsonObject } from '../../contract/json-values.ts';
import { type Collection, paths } from '../../contract/paths.ts';
import { applySlugEdit, type SlugEdit } from '../../contract/slug.ts';
import type { Asset, PageEnvelope, PlayerData } from '../../contract/types.ts';
import { isSameUid } from '../../contract/uid.ts';
import { MediactlError } from '../errors.ts';
import type { ApiRequest } from '../http/api-request.ts';
import { unexpectedResponse } from '../http/error-response.ts';
import type { Transport } from '../http/transport.ts';
import { fetchPages, itemsOf, type ListWindow, maxPagesInFlight, parsePage } from './pagination.ts';
import { deleteRequest, parseIdentifier, parseRecord, Resource, readPurpose, writeRequest } from './resource.ts';
import { assertApplied, findDifferences } from './write-check.ts';

/** Returns the filter that finds a name. A name without letters or digits cannot be searched for. */
export const searchFor = (name: string): AssetFilters => (/[\p{L}\p{N}]/u.test(name) ? { search: name } : {});

/**
 * Returns the workspace that the filter `parent` selects from: "a parent folder uid in the primary workspace" (§4).
 * Called before each request with that filter. @returns undefined if any may be meant @throws an error to stop it
 */
export type FindParentWorkspace = () => Promise<string | undefined>;

/** Client of the videos and assets endpoints (§4), which are the same for both collections. */
export class AssetsApi extends Resource {
  readonly #collection: Collection;
  readonly #findParentWorkspace: FindParentWorkspace | undefined;

  constructor(
    transport: Transport,
    names: NameOverrides,
    collection: Collection = 'assets',
    findParentWorkspace?: FindParentWorkspace,
  ) {
    super(transport, names);
    this.#collection = collection;
    this.#findParentWorkspace = findParentWorkspace;
  }

  /** @throws MediactlError `filter_ignored` (exit 6) if a listed asset shows another workspace than that of `parent` */
  async page(filters: AssetFilters, limit: number, offset: number): Promise<PageEnvelope<Asset>> {
    const workspace = filters.parent === undefined ? undefined : await this.#findParentWorkspace?.();
    const query = { ...filters, limit, offset };
    const page = parsePage<Asset>(await this.read(paths.collection(this.#collection), this.#read, query));
    if (workspace === undefined) return page;
    const other = itemsOf<Asset>(page).find((asset) => !isSameUid(workspaceOf(asset) ?? workspace, workspace));
    if (!other) return page;
    throw new MediactlError('the service lists a folder of another workspace', {
      code: 'filter_ignored',
      reason: `asset ${other.uid} is in workspace ${workspaceOf(other)}`,
      remedy: ['use_uids'],
    });
  }

  list(filters: AssetFilters, window: ListWindow): AsyncGenerator<Asset[]> {
    return fetchPages(
      (limit, offset) => this.page(filters, limit, offset),
      window,
      this.names,
      // Fetch fewer pages at once when few requests remain in the rate limit window, so that a 429 stops one request
      // instead of eight.
      () => Math.min(maxPagesInFlight, this.transport.connection.rateLimit?.remaining ?? maxPagesInFlight),
    );
  }

  async get(uid: string): Promise<Asset> {
    return parseRecord<Asset>(await this.read(this.#path(uid), this.#read));
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

  /**
   * Updates an asset and verifies that the service applied each field.
   *
   * @returns the updated record and, in `unverifiable`, the fields that cannot be verified because the record does
   *   not show them
   * @throws MediactlError `write_ignored` (exit 6) if a field is unchanged, or if a field with a guessed name
   *   (assumption A08) is not shown
   */
  async update(uid: string, fields: JsonObject): Promise<{ asset: Asset; unverifiable: string[] }> {
    const asset = parseRecord<Asset>(await this.transport.json(this.updateRequest(uid, fields)));
    const isShown = (record: Asset) => (field: string) => this.#fieldNameIn(field, record) in record;
    const all = Object.keys(fields);
    const now = all.every(isShown(asset)) ? asset : await this.get(uid);
    const shown = all.filter(isShown(now));
    // A field name given by the user or learned from the service is trusted.
    const unverifiable = all.filter((field) => !shown.includes(field) && !this.#isAssumedName(field));
    assertApplied({
      noun: 'the asset',
      requested: Object.fromEntries(Object.entries(fields).filter(([field]) => !unverifiable.includes(field))),
      actual: {
        uid: now.uid,
        ...Object.fromEntries(shown.map((field) => [field, now[this.#fieldNameIn(field, now)]])),
      },
      unorderedFields: [this.#tagsField],
      remedy: this.#tagsField in fields ? ['set_field_names', 'asset_tags'] : ['show_asset', uid, 'to see its fields'],
    });
    return { asset, unverifiable };
  }

  /** Builds the PATCH fields that replace all tags of an asset with the given slugs. */
  tagFields(tags: readonly string[]): JsonObject {
    return { [this.#tagsField]: [...tags] };
  }

  /** Builds the PATCH fields that add and remove tags. @throws MediactlError `tags_unknown` (exit 6) if it shows none */
  tagEditFields(asset: Asset, edit: SlugEdit): JsonObject {
    const field = this.#tagsField;
    const before = slugsOf(field in asset ? { tags: asset[field] } : asset);
    if (before) return this.tagFields(applySlugEdit(before, edit));
    throw new MediactlError(`the service does not show the tags of asset ${asset.uid}`, {
      code: 'tags_unknown',
      reason: 'adding and removing tags requires the current ones',
      details: { uid: asset.uid },
    });
  }

  /** Builds the PATCH fields that move an asset to a folder, given by uid, or to the top level (assumption A20). */
  folderFields(asset: Asset, folder: string | null): JsonObject {
    return { [this.#folderFieldIn(asset)]: folder };
  }

  /** Moves an asset to a folder, given by uid, or to the top level. @throws the same errors as `write` */
  async move(asset: Asset, folder: string | null): Promise<Asset> {
    return (await this.write(asset, this.folderFields(asset, folder))).asset;
  }

  /**
   * Updates an asset as `update` does. If its record does not show the folder, verifies that in the list of the folder.
   *
   * @throws MediactlError `write_ignored` (exit 6) if a field is unchanged, or the asset is in another folder
   */
  async write(asset: Asset, fields: JsonObject): Promise<{ asset: Asset; unverifiable: string[] }> {
    const folderField = this.#folderFieldIn(asset);
    const isMove = folderField in fields;
    if (isMove && !(folderField in asset)) await this.#findParentWorkspace?.(); // needed to verify the move
    const { asset: updated, unverifiable } = await this.update(asset.uid, fields);
    const others = unverifiable.filter((field) => !isMove || field !== folderField);
    const folder = fields[folderField];
    if (others.length === unverifiable.length || (await this.#isListedIn(asText(folder) ?? null, asset)))
      return { asset: updated, unverifiable: others };
    throw new MediactlError(`the service did not move ${asText(asset.name) ?? asset.uid}`, {
      code: 'write_ignored',
      reason: 'it accepted the request, but does not list the asset in the new folder',
      remedy: ['set_field_names', 'asset_parent'],
    });
  }

  /** Returns the values of fields as a PATCH sets them. Leaves out those that the record does not show. */
  valuesOf(asset: Asset, fields: readonly string[]): JsonObject {
    const folderField = this.#folderFieldIn(asset);
    const read = (field: string) => {
      const value = asset[this.#fieldNameIn(field, asset)];
      if (value === null && (field === 'name' || field === 'description')) return ''; // a PATCH may not accept null
      if (field === folderField) return parentOf({ uid: asset.uid, parent: value });
      return field === this.#tagsField ? slugsOf({ tags: value }) : value;
    };
    const shown = fields.map((field) => [field, read(field)] as const).filter(([, value]) => value !== undefined);
    return Object.fromEntries(shown);
  }

  /** Returns the folder that fields set: null for the top level, undefined if they set none. */
  folderIn(fields: JsonObject): string | null | undefined {
    const { asset_parent: name } = this.names;
    return parentOf({ uid: '', ...(name === undefined ? fields : name in fields ? { parent: fields[name] } : {}) });
  }

  /** Returns the fields of `one` whose value differs in `other`, both as `valuesOf` returns them. */
  findDifferences(one: JsonObject, other: JsonObject): string[] {
    return findDifferences(one, other, [this.#tagsField]);
  }

  async #isListedIn(folder: string | null, { uid, name }: Asset): Promise<boolean> {
    const filters = { parent: folder ?? 'root', ...searchFor(asText(name) ?? '') };
    for await (const page of this.list(filters, {})) if (page.some((each) => isSameUid(each.uid, uid))) return true;
    return false;
  }

  /** Returns the name of an asset's folder field: declared in the profile, shown in the record, or assumed. */
  #folderFieldIn(asset: Asset): string {
    const [assumed = 'parent'] = fieldNamesFor('asset_parent', this.names);
    return this.names.asset_parent ?? findParentField(asset) ?? assumed;
  }

  /** Returns the name under which a record shows a field. Tags can have one name in requests and another in records. */
  #fieldNameIn(field: string, record: Asset): string {
    return field === this.#tagsField && !(field in record) ? 'tags' : field;
  }

  get #tagsField(): string {
    return fieldNamesFor('asset_tags', this.names)[0] as string;
  }

  /** Returns true if the name of a field is only an assumption (A08), not configured in the profile. */
  #isAssumedName(field: string): boolean {
    const isTags = field === this.#tagsField && this.names.asset_tags === undefined;
    return isTags || field === 'name' || field === 'description';
  }

  /** Builds the DELETE request ("soft delete", §4). */
  deleteRequest(uid: string): ApiRequest {
    return deleteRequest(this.#path(uid), this.#collection);
  }

  async delete(uid: string): Promise<void> {
    const { status } = await this.transport.send(this.deleteRequest(uid));
    if (status === 204) return;
    throw new MediactlError(`the service did not confirm that it deleted asset ${uid}`, {
      code: 'write_ignored',
      reason: `it responded ${status} instead of 204`,
      remedy: ['show_asset', uid, 'to see if it still exists'],
      details: { uid },
    });
  }

  #path(uid: string): string {
    return paths.item(this.#collection, parseIdentifier(uid));
  }

  get #read() {
    return readPurpose(this.#collection);
  }
}
