/* Tag changes of existing assets. The tags of a new upload are part of the upload. */

import type { SlugEdit } from '../../contract/slug.ts';
import type { JsonObject } from '../../shared/json-values.ts';
import type { AssetsApi } from '../api/assets.ts';
import { CodedError, usageError } from '../errors.ts';
import type { SelectedAsset } from '../library/select-assets.ts';

/** A complete new set of tags, or slugs to add and remove. */
export type TagChange = { set: readonly string[] } | SlugEdit;

export const isEmptyEdit = (tags: SlugEdit | null | undefined) => !tags || tags.add.length + tags.remove.length === 0;

/**
 * Returns an edit, whose two lists have the names that the user knows.
 *
 * @throws CodedError `usage` (exit 2) if both lists have a tag
 */
export function checkedEdit([added, removed]: readonly [string, string], edit: SlugEdit): SlugEdit {
  const both = edit.add.find((slug) => edit.remove.includes(slug));
  if (both !== undefined) throw usageError(`${added} and ${removed} both name ${both}`, 'give each tag once');
  return edit;
}

/** Returns a change of tags as an edit of those that the record shows; as a whole set if it shows none. */
export function toTagEdit(
  assets: AssetsApi,
  { uid, record }: Pick<SelectedAsset, 'uid' | 'record'>,
  tags: TagChange | undefined,
): { set?: readonly string[]; edit?: SlugEdit } {
  if (!tags) return {};
  const shown = record && assets.tagsOf(record);
  if ('set' in tags) return shown ? { edit: differenceOf(shown, tags.set) } : { set: tags.set };
  if (shown) return { edit: effectOf(tags, shown) };
  throw tagsUnknown(uid);
}

/** Creates the error for tags of which the record does not show all slugs. A write of some would remove the others. */
export const tagsUnknown = (uid: string) =>
  new CodedError(`the service does not show the tags of asset ${uid}`, {
    code: 'tags_unknown',
    reason: 'adding and removing tags requires the current ones',
    details: { uid },
  });

/** Returns the slugs to add and to remove so that one set of tags becomes another. */
export const differenceOf = (before: readonly string[], after: readonly string[]): SlugEdit => ({
  add: [...new Set(after)].filter((slug) => !before.includes(slug)),
  remove: [...new Set(before)].filter((slug) => !after.includes(slug)),
});

/** Returns the part of an edit that changes something of a set of tags. */
export const effectOf = (edit: SlugEdit, before: readonly string[]): SlugEdit =>
  differenceOf(before, applyTagEdit(before, edit));

/** Returns the tags of an asset after an edit of those that it has. */
export const applyTagEdit = (before: readonly string[], { add, remove }: SlugEdit): string[] =>
  [...new Set([...before, ...add])].filter((slug) => !remove.includes(slug));

/** Returns the edit that takes an edit back. */
export const inverseOf = ({ add, remove }: SlugEdit): SlugEdit => ({ add: remove, remove: add });

/** Returns the edit of two requests of which the first may have been carried out. */
export const joinEdits = (earlier: SlugEdit | null | undefined, later: SlugEdit): SlugEdit => {
  const union = (key: keyof SlugEdit) => [...new Set([...(earlier?.[key] ?? []), ...later[key]])];
  return { add: union('add'), remove: union('remove') };
};

/** Returns the field of a PATCH that carries out an edit: tags are written as a whole (assumption A08). */
export const tagFieldsOf = (
  assets: AssetsApi,
  edit: SlugEdit | null | undefined,
  present: readonly string[],
): JsonObject => (edit && !isEmptyEdit(edit) ? assets.tagFields(applyTagEdit(present, edit)) : {});
