import { Option } from '@commander-js/extra-typings';
import { checkedEdit } from '../../client/changes/tag-change.ts';
import { usageError } from '../../client/errors.ts';
import { fieldNamesFor } from '../../contract/assumptions.ts';
import { isSlug, parseTags, type SlugEdit, slugRule, suggestSlugs } from '../../contract/slug.ts';
import type { JsonObject } from '../../shared/json-values.ts';
import { collect } from '../command.ts';
import type { Context } from '../context.ts';

export const tagOption = <Flags extends string>(flags: Flags, description: string) =>
  new Option(flags, `${description}; can be repeated, or a,b`).argParser(collect).default([] as string[], '');

/**
 * Returns the tags of an option. Each of its values is one tag, or several, separated by commas.
 *
 * @param areNew false for tags to remove, which are as the library has them
 * @throws CodedError `usage` (exit 2) if a tag is empty, or a new one is not a slug
 */
export function parseTagOption(option: string, values: readonly string[], { areNew = true } = {}): string[] {
  for (const value of values) {
    const tags = parseTags([value]) ?? [];
    const wrong = tags.find((tag) => tag === '' || (areNew && !isSlug(tag)));
    if (wrong === undefined) continue;
    const better = areNew ? suggestSlugs(tags) : tags.filter(Boolean);
    throw usageError(
      `${option} does not accept '${wrong || value}'`,
      better?.join(',') || 'a slug, such as summer-2026',
      wrong === '' ? 'a tag is empty' : slugRule,
    );
  }
  return parseTags(values) ?? [];
}

/** Checks tags to add and remove. @throws CodedError `usage` (exit 2) if they conflict or one is not a slug */
export const parseTagEdit = (add: readonly string[], remove: readonly string[]): SlugEdit =>
  checkedEdit(['--add', '--remove'], {
    add: parseTagOption('--add', add),
    remove: parseTagOption('--remove', remove, { areNew: false }),
  });

/**
 * Returns fields of a PATCH, their tags as a list of slugs. Leaves tags that are no texts as they are.
 *
 * @throws CodedError `usage` (exit 2) as `parseTagOption` does
 */
export async function parseTagField(context: Context, fields: JsonObject): Promise<JsonObject> {
  const [field = ''] = fieldNamesFor('asset_tags', (await context.account()).names);
  const value = fields[field];
  const tags = parseTags(typeof value === 'string' ? [value] : value);
  return tags ? { ...fields, [field]: parseTagOption(`the field ${field}`, tags) } : fields;
}
