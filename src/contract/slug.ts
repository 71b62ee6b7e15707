/** Transliterations of Latin letters that Unicode does not decompose. */
const transliterations: Record<string, string> = {
  ...{ ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', ł: 'l', đ: 'd', ð: 'd', þ: 'th', ı: 'i' },
};

/** Returns true for a slug of common frameworks: letters a to z, digits, hyphens and underscores. */
export const isSlug = (text: string) => /^[\w-]*[a-z0-9][\w-]*$/i.test(text);

/**
 * Converts user input to a slug: `Äpfel & Birnen` becomes `apfel-birnen`. Returns undefined if nothing remains
 * or letters of another script would be lost. Browser code imports this too.
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

/** Slugs to add to and remove from the tags of an asset. */
export type SlugEdit = { add: readonly string[]; remove: readonly string[] };

export const applySlugEdit = (before: readonly string[], { add, remove }: SlugEdit): string[] =>
  [...new Set([...before, ...add])].filter((slug) => !remove.includes(slug));
