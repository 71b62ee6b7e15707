import { asObject, asText } from './json-values.ts';
import { toSlug } from './slug.ts';
import type { Asset } from './types.ts';

/** Returns the uid of an asset's folder (A09): null for the top level, undefined if the record does not name one. */
export function parentOf(asset: Asset): string | null | undefined {
  const field = findParentField(asset);
  if (field === undefined) return undefined;
  const value = asset[field];
  return value === null ? null : (asText(value) ?? asText(asObject(value).uid));
}

/** Finds the field of a record that names its folder, or undefined if there is none. */
export const findParentField = (asset: Asset) => parentFields.find((each) => each in asset);

export const parentFields = [
  ...['parent', 'parent_uid', 'parent_folder_uid', 'folder', 'folder_uid'],
];

/** Returns the tag slugs of a record (A08), or undefined if tags are missing or not all have a readable slug. */
export function slugsOf({ tags }: Pick<Asset, 'tags'>): string[] | undefined {
  if (tags === null) return [];
  const slugs = Array.isArray(tags) ? tags.map(slugOf) : [undefined];
  return slugs.every((slug) => slug !== undefined) ? slugs : undefined;
}

/** Returns the slug of a tag. A name counts only if it is a slug: that of `Sea Side` is not predictable. */
function slugOf(tag: unknown): string | undefined {
  const { slug, name } = asObject(tag);
  const isName = slug === undefined && typeof name === 'string' && toSlug(name) === name;
  const read = isName ? name : (slug ?? tag);
  return typeof read === 'string' && read !== '' ? read : undefined;
}
