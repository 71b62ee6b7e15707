import { fieldsIn, textIn } from './reading.ts';
import { toSlug } from './slug.ts';
import type { Asset } from './types.ts';

/** The folder that a record says it is in (A09): its uid, null for the top level, undefined where it does not say. */
export function parentOf(asset: Asset): string | null | undefined {
  const field = parentField(asset);
  if (field === undefined) return undefined;
  const shown = asset[field];
  return shown === null ? null : (textIn(shown) ?? textIn(fieldsIn(shown).uid));
}

/** The field by which a record names its folder. */
export const parentField = (asset: Asset) => parentFields.find((each) => each in asset);

export const parentFields = [
  ...['parent', 'parent_uid', 'parent_folder_uid', 'folder', 'folder_uid'],
];

/** Returns the tag slugs of a record (A08), or undefined if it shows no tags or one whose slug cannot be read. */
export function slugsOf({ tags }: Pick<Asset, 'tags'>): string[] | undefined {
  if (tags === null) return [];
  const slugs = Array.isArray(tags) ? tags.map(slugOf) : [undefined];
  return slugs.every((slug) => slug !== undefined) ? slugs : undefined;
}

/** A name is read as the slug only if it is one: the slug of `Sea Side` may be anything. */
function slugOf(tag: unknown): string | undefined {
  const { slug, name } = fieldsIn(tag);
  const isName = slug === undefined && typeof name === 'string' && toSlug(name) === name;
  const read = isName ? name : (slug ?? tag);
  return typeof read === 'string' && read !== '' ? read : undefined;
}
