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

/** Returns true for a slug as common web frameworks define it: letters a to z, digits, hyphens and underscores. */
export const isSlug = (text: string) => /^[\w-]*[a-z0-9][\w-]*$/i.test(text);

/** Converts `Äpfel & Birnen` to `apfel-birnen`. Returns undefined if it is empty or loses letters of another script. */
export function toSlug(text: string): string | undefined {
  const latin = text
    .toLowerCase()
    .normalize('NFKD')
    .replace(/[ßæœøłđðþı]/g, (letter) => transliterations[letter] as string)
    .replace(/\p{M}/gu, '');
  if (/(?![a-z0-9])[\p{L}\p{N}]/u.test(latin)) return undefined;
  return latin.replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '') || undefined;
}

export type SlugEdit = { add: readonly string[]; remove: readonly string[] };

export const applySlugEdit = (before: readonly string[], { add, remove }: SlugEdit): string[] =>
  [...new Set([...before, ...add])].filter((slug) => !remove.includes(slug));
