import { fieldsIn, listIn, textIn } from './reading.ts';
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

/** The slugs of a record (A08); undefined where it shows no tags. */
export function slugsOf({ tags }: Asset): string[] | undefined {
  if (tags === null) return [];
  if (!Array.isArray(tags)) return undefined;
  return listIn(tags).flatMap((tag) => {
    const { slug, name } = fieldsIn(tag);
    return textIn(tag) ?? textIn(slug) ?? textIn(name) ?? [];
  });
}
