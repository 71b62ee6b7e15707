/** Latin letters that Unicode does not decompose. */
const spelledOut: Record<string, string> = {
  ...{ ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', ł: 'l', đ: 'd', ð: 'd', þ: 'th', ı: 'i' },
};

/** Returns true for letters a to z, digits, hyphens and underscores: the slugs of common frameworks. */
export const isSlug = (text: string) => /^[\w-]*[a-z0-9][\w-]*$/i.test(text);

/**
 * Makes a slug of what a person typed: `Äpfel & Birnen` becomes `apfel-birnen`. Undefined where letters of
 * another script would be lost, or where nothing is left. Browser code imports this too.
 */
export function toSlug(text: string): string | undefined {
  const latin = text
    .toLowerCase()
    .normalize('NFKD')
    .replace(/[ßæœøłđðþı]/g, (letter) => spelledOut[letter] as string)
    .replace(/\p{M}/gu, '');
  if (/(?![a-z0-9])[\p{L}\p{N}]/u.test(latin)) return undefined;
  return latin.replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '') || undefined;
}

/** Slugs to add to those that an asset has, and slugs to take off. */
export type SlugEdit = { add: readonly string[]; remove: readonly string[] };

export const editedSlugs = (before: readonly string[], { add, remove }: SlugEdit): string[] =>
  [...new Set([...before, ...add])].filter((slug) => !remove.includes(slug));
