import { asNumber, asObject, asText } from '../shared/json-values.ts';
import { toSlug } from './slug.ts';
import type { AssetRecord } from './types.ts';

/** Returns the uid of an asset's folder (A09): null for the top level, undefined if the record does not name one. */
export function parentOf(asset: AssetRecord): string | null | undefined {
  const field = findParentField(asset);
  if (field === undefined) return undefined;
  const value = asset[field];
  return value === null ? null : (asText(value) ?? asText(asObject(value).uid));
}

export const findParentField = (asset: AssetRecord) => parentFields.find((each) => each in asset);

/** Names of the field with an asset's folder, best first (assumptions A09 and A20). */
export const parentFields = ['parent', 'parent_uid', 'parent_folder_uid', 'folder', 'folder_uid'];

/** Returns the slugs of an asset's tags (assumption A08), or undefined if the tags or any of their slugs are missing. */
export function slugsOf({ tags }: Pick<AssetRecord, 'tags'>): string[] | undefined {
  if (tags === null) return [];
  const slugs = Array.isArray(tags) ? tags.map(slugOf) : [undefined];
  return slugs.every((slug) => slug !== undefined) ? slugs : undefined;
}

/** Uses the name of a tag only if it is a slug, because the slug of a name such as `Sea Side` cannot be predicted. */
function slugOf(tag: unknown): string | undefined {
  const { slug, name } = asObject(tag);
  const isName = slug === undefined && typeof name === 'string' && toSlug(name) === name;
  const read = isName ? name : (slug ?? tag);
  return typeof read === 'string' && read !== '' ? read : undefined;
}

/** An asset, as local files are compared with it. */
export type ListedAsset = { uid: string; name: string; sizeBytes: number | null };

export const toListedAsset = ({ uid, name, size }: AssetRecord): ListedAsset => ({
  uid,
  name: asText(name) ?? '',
  sizeBytes: asNumber(size) ?? null,
});
