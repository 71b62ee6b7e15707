/** Maps Latin letters that Unicode does not decompose to their transliterations. */
const transliterations: Record<string, string> = {
  ...{ ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', ł: 'l', đ: 'd', ð: 'd', þ: 'th', ı: 'i' },
};

/** Returns true for a slug as common web frameworks define it: letters a to z, digits, hyphens and underscores. */
export const isSlug = (text: string) => /^[\w-]*[a-z0-9][\w-]*$/i.test(text);

/**
 * Converts user input to a slug, for example `Äpfel & Birnen` to `apfel-birnen`. Returns undefined if the slug
 * would be empty or would lose letters of another script. Browser code imports this function too.
 */
export function toSlug(text: string): string | undefined {
  const latin = text
    .toLowerCase()
    .normalize('NFKD')
    .replace(/[ßæœøłđðþı]/g, (letter) => transliterations[letter] as string)
    .replace(/\p{M}/gu, '');
  if (/(?![a-z0-9])[\p{L}\p{N}]/u.test(latin)) return undefined;
  return latin.replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '') || undefined;
}

/** Tag slugs to add to an asset and to remove from it. */
export type SlugEdit = { add: readonly string[]; remove: readonly string[] };

export const applySlugEdit = (before: readonly string[], { add, remove }: SlugEdit): string[] =>
  [...new Set([...before, ...add])].filter((slug) => !remove.includes(slug));
