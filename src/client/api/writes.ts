import type { NameKey } from '../../contract/assumptions.ts';
import type { ApiFolder, AssetRecord } from '../../contract/types.ts';
import { isSameUid } from '../../contract/uid.ts';
import type { JsonObject } from '../../shared/json-values.ts';
import { unexpectedResponse } from '../http/error-response.ts';
import { parseJsonResponse } from '../http/json.ts';
import type { Api } from './api.ts';
import { AssetsApi } from './assets.ts';
import type { WorkspaceEmbedSettings } from './embed-settings.ts';
import { EmbedsApi, embedNoun } from './embeds.ts';
import { type FolderChange, type FolderFields, FoldersApi } from './folders.ts';
import { parseRecord } from './resource.ts';
import { assertApplied, sendWithNameHint, verifyWrite } from './write-check.ts';

/*
 * The calls that change a library. The resources of `Api` only read, so a module can write only if it imports this one;
 * test/architecture/writers.test.ts lists those that do.
 */

class AssetWrites extends AssetsApi {
  /**
   * Updates an asset and verifies that the service applied each field.
   *
   * @returns the updated record and, in `unverifiable`, the fields that cannot be verified because the record does
   *   not show them
   * @throws CodedError `write_ignored` (exit 6) if a field is unchanged, or if a field with a guessed name
   *   (assumption A08) is not shown; `invalid_response` (exit 10) if the response is the record of another asset
   */
  async update(uid: string, fields: JsonObject): Promise<{ asset: AssetRecord; unverifiable: string[] }> {
    const written = parseRecord<AssetRecord>(await this.transport.json(this.updateRequest(uid, fields)));
    assertSameAsset(uid, written);
    const isComplete = Object.keys(fields).every((field) => this.fieldNameIn(field, written) in written);
    return verifyWrite(this.transport, async (isLast) => {
      const asset = isComplete && !isLast ? written : await this.get(uid);
      assertSameAsset(uid, asset);
      return { asset, unverifiable: this.#assertUpdated(asset, fields) };
    });
  }

  /** Compares fields with a record. @returns those that it does not show @throws like `update` */
  #assertUpdated(asset: AssetRecord, fields: JsonObject): string[] {
    const all = Object.keys(fields);
    const shown = all.filter((field) => this.fieldNameIn(field, asset) in asset);
    // A field name given by the user or learned from the service is trusted.
    const unverifiable = all.filter((field) => !shown.includes(field) && !this.isAssumedName(field));
    assertApplied({
      noun: 'the asset',
      requested: Object.fromEntries(Object.entries(fields).filter(([field]) => !unverifiable.includes(field))),
      actual: {
        uid: asset.uid,
        ...Object.fromEntries(shown.map((field) => [field, asset[this.fieldNameIn(field, asset)]])),
      },
      unorderedFields: [this.tagsField],
      remedy:
        this.tagsField in fields ? ['set_field_names', 'asset_tags'] : ['show_asset', asset.uid, 'to see its fields'],
    });
    return unverifiable;
  }

  /**
   * Moves an asset to the trash. Accepts any 2xx, since only the library shows whether it is gone; the writer reads it
   * back.
   */
  async delete(uid: string): Promise<void> {
    await this.transport.send(this.deleteRequest(uid));
  }
}

/** @throws CodedError `invalid_response` (exit 10) if a record that the service returned for an asset is of another */
function assertSameAsset(uid: string, record: AssetRecord): void {
  if (isSameUid(record.uid, uid)) return;
  throw unexpectedResponse(`cannot tell whether the service changed asset ${uid}`, {
    reason: `it responded with the record of another asset, ${record.uid}`,
    remedy: ['show_asset', uid, 'to see if it was changed'],
    details: { uid },
  });
}

/** Returns the config key that overrides the name of a field in the body of a folder request. */
const nameKeyOf = (field: string): NameKey => (/parent/i.test(field) ? 'folder_parent' : 'folder_name');

class FolderWrites extends FoldersApi {
  async create(workspace: string, fields: FolderFields, change: FolderChange): Promise<ApiFolder> {
    const request = this.createRequest(workspace, fields, change);
    return parseRecord<ApiFolder>(parseJsonResponse(await sendWithNameHint(this.transport, request, nameKeyOf)));
  }

  /** Renames or moves a folder. */
  async change(workspace: string, uid: string, fields: FolderFields, change: FolderChange): Promise<void> {
    await sendWithNameHint(this.transport, this.changeRequest(workspace, uid, fields, change), nameKeyOf);
  }

  /**
   * Deletes a folder. Accepts any 2xx, because the specification does not show the response (§4, assumption A04), so
   * that only the folders afterwards show if it is deleted.
   */
  async delete(workspace: string, uid: string): Promise<void> {
    await this.transport.send(this.deleteRequest(workspace, uid));
  }
}

class EmbedWrites extends EmbedsApi {
  /** Turns the restriction on or off. @throws CodedError `write_ignored` (exit 6) if the setting did not change */
  async restrict(workspace: string, before: WorkspaceEmbedSettings, enabled: boolean) {
    const request = this.restrictRequest(workspace, before, enabled);
    await sendWithNameHint(this.transport, request, () => 'embed_enabled');
    return verifyWrite(this.transport, async () => {
      const after = await this.settings(workspace);
      const actual = { enabled: after.enabled };
      assertApplied({ noun: embedNoun, requested: { enabled }, actual, remedy: ['set_field_names', 'embed_enabled'] });
      return after;
    });
  }

  async changeDomain(...change: Parameters<EmbedsApi['domainRequest']>): Promise<void> {
    await sendWithNameHint(this.transport, this.domainRequest(...change), () => 'embed_domain');
  }
}

/** Returns the calls that change the library of an API client, with a property per resource. */
export const writesOf = (api: Api) => ({
  assets: api.resource(AssetWrites),
  videos: api.resource(AssetWrites, 'videos'),
  folders: api.resource(FolderWrites),
  embeds: api.resource(EmbedWrites),
});
