import { asText, parseJsonOrUndefined } from '../shared/json-values.ts';

/** Maps Latin letters that Unicode does not decompose to their transliterations. */
const transliterations: Record<string, string> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ı: 'i',
};

/** Slug of a tag: lowercase letters a to z, digits, hyphens and underscores, at least one of them a letter or digit. */
export const slugPattern = /^[_-]*[a-z0-9][a-z0-9_-]*$/;

export const isSlug = (text: string) => slugPattern.test(text);

/** The rule of `slugPattern`, in words. */
export const slugRule = 'a tag is a slug: lowercase letters a to z, digits, hyphens and underscores';

/** Converts `Äpfel & Birnen` to `apfel-birnen`. Returns undefined if it is empty or loses letters of another script. */
export function toSlug(text: string): string | undefined {
  const latin = text
    .toLowerCase()
    .normalize('NFKD')
    .replace(
      /[\u00df\u00e6\u0153\u00f8\u0142\u0111\u00f0\u00fe\u0131]/g,
      (letter) => transliterations[letter] as string,
    )
    .replace(/\p{M}/gu, '');
  if (/(?![a-z0-9])[\p{L}\p{N}]/u.test(latin)) return undefined;
  return latin.replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '') || undefined;
}

/**
 * Splits tags as people write them, without duplicates, in their order. A text, such as a cell of a table, is split at
 * commas, semicolons and white space. An element of a list is split only at commas: `sea side` in a list is one tag,
 * which is no slug. So is the empty tag of `a,,b` in a list. A text can be a list as JSON.
 *
 * @returns undefined if the value is neither a text nor a list of texts; a number is its digits
 */
export function parseTags(value: unknown): string[] | undefined {
  const list = typeof value === 'string' && value.startsWith('[') ? parseJsonOrUndefined(value) : value;
  const texts = Array.isArray(list) ? list.map(toTagText) : [toTagText(value)];
  if (texts.includes(undefined)) return undefined;
  const split = (text = '') =>
    Array.isArray(list) ? text.split(',').map((tag) => tag.trim()) : text.split(/[\s,;]+/).filter(Boolean);
  return [...new Set(texts.flatMap(split))];
}

const toTagText = (value: unknown) => (typeof value === 'boolean' ? undefined : asText(value));

/**
 * Returns why tags cannot be set, with the tags to write instead, in one sentence without a period. Undefined if each
 * is a slug or one of the tags that the asset already has.
 */
export function describeWrongTag(tags: readonly string[], present: readonly string[] = []): string | undefined {
  const wrong = tags.find((tag) => !isSlug(tag) && !present.includes(tag));
  if (wrong === undefined) return undefined;
  const slugs = suggestSlugs([wrong]);
  return `'${wrong}' is not a valid tag: ${slugRule}${slugs ? `; try ${slugs.join(', ')}` : ''}`;
}

/** Returns slugs to write instead of tags. Undefined if there are none, or one has letters of another script. */
export function suggestSlugs(tags: readonly string[]): string[] | undefined {
  const given = (parseTags(tags) ?? []).filter(Boolean);
  const slugs = given.flatMap((tag) => (isSlug(tag) ? tag : (toSlug(tag) ?? [])));
  return slugs.length > 0 && slugs.length === given.length ? [...new Set(slugs)] : undefined;
}

export type SlugEdit = { add: readonly string[]; remove: readonly string[] };
