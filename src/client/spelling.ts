/** Most errors of spelling in a word. With two in six letters, `import` would be a spelling of `export`. */
const maxDistance = (length: number) => (length <= 7 ? 1 : length <= 10 ? 2 : 3);

/**
 * Returns the known words whose spelling is closest to an unknown one; none if no word is close.
 *
 * @param most most errors of spelling; by default as many as its length allows
 */
export function closestSpellings(unknown: string, known: readonly string[], most?: number): string[] {
  const word = unknown.replace(/^-+/, '');
  if (word.length === 1) return known.filter((each) => each.toLowerCase() === unknown.toLowerCase());
  const apart = known
    .filter((each) => !isOpposite(word, each.replace(/^-+/, '')))
    .map((each) => ({ each, by: editDistance(word, each.replace(/^-+/, '')) }));
  const least = Math.min(...apart.map(({ by }) => by));
  return least <= (most ?? maxDistance(word.length))
    ? apart.filter(({ by }) => by === least).map(({ each }) => each)
    : [];
}

/** Returns true for words such as `no-wait` and `wait`, or `mount` and `unmount`. */
const isOpposite = (one: string, other: string) =>
  ['no-', 'un'].some((prefix) => one === prefix + other || other === prefix + one);

/** Returns the edit distance, counting a swap of adjacent letters as one edit (optimal string alignment). */
function editDistance(one: string, other: string): number {
  const rows = [[...Array(other.length + 1).keys()]];
  for (let i = 1; i <= one.length; i++) {
    const row = [i];
    for (let j = 1; j <= other.length; j++) {
      const [above, before] = [rows[i - 1] as number[], rows[i - 2]];
      const isSame = one[i - 1] === other[j - 1];
      const edits = [(above[j] as number) + 1, (row[j - 1] as number) + 1, (above[j - 1] as number) + (isSame ? 0 : 1)];
      row[j] = Math.min(...edits);
      if (before && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1])
        row[j] = Math.min(row[j] as number, (before[j - 2] as number) + 1);
    }
    rows.push(row);
  }
  return (rows[one.length] as number[])[other.length] as number;
}
