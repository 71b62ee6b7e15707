const month = '(?:jan|feb|mar|mär|mrz|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez)\\p{L}*';

/** Matches text that a spreadsheet reads as a formula, number, date or boolean (English or German), or that begins with `'`. */
const misread = new RegExp(
  [
    String.raw`^['=+\-@\t\r]`,
    String.raw`^[\d.,:/()\s€$%-]*\d[\d.,:/()\s€$%-]*$`,
    String.raw`^[\d.,]+e[+-]?\d+$`,
    '^(true|false|wahr|falsch)$',
    String.raw`^\d{1,4}[. /-]*${month}[. /-]*\d*$`,
    String.raw`^${month}\.?[ /-]\d{1,4}(, ?\d{4})?$`,
  ].join('|'),
  'iu',
);

/** Paths such as `/Campaigns` contain nothing that is misread. */
const isPath = (text: string) => /^\/(?!\d)/.test(text);

/** Protects a cell that a spreadsheet would change, by a leading `'`, which `unguardCell` removes. */
export const guardCell = (text: string) => {
  const trimmed = text.trim(); // as the reader does
  return misread.test(trimmed) && !isPath(trimmed) ? `'${trimmed}` : text;
};

export const unguardCell = (text: string) => (text.startsWith("'") ? text.slice(1) : text);

/** Maximum length of a cell in Excel, which cuts the rest. */
const maxCellLength = 32_767;

/** Windows-1252 from 0x80 to 0x9f, where it differs from Latin-1. */
export const windowsLetters = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ';

/**
 * Describes how a spreadsheet seems to have reformatted a text. Returns undefined if it shows no sign of that. This is a
 * heuristic: it does not detect `TRUE` that became `WAHR`.
 */
export function describeReformatting(before: string, now: string): string | undefined {
  if (before === now) return undefined;
  const replaceOthers = (replace: (letter: string) => string) =>
    [...before]
      .map((letter) => (letter > '\xff' && !windowsLetters.includes(letter) ? replace(letter) : letter))
      .join('');
  const withoutAccents = (letter: string) => letter.normalize('NFD').replace(/\p{M}/gu, '');
  if ([() => '?', withoutAccents].some((replace) => replaceOthers(replace) === now)) return 'letters were lost';
  if (now.length >= maxCellLength && now.length < before.length && before.startsWith(now)) return 'the end is cut off';
  if (isSameNumber(before, now)) return 'only the form of the number differs';
  return isSameDate(before, now) ? 'it looks like a date that was reformatted' : undefined;
}

function isSameNumber(before: string, now: string): boolean {
  const [one, other] = [before, now].map((text) =>
    /^[\d.,eE+-]*\d[\d.,eE+-]*$/.test(text) ? Number(text.replace(',', '.')) : Number.NaN,
  );
  return one !== undefined && Number.isFinite(one) && one === other;
}

/** Returns true if the first is a date of numbers, and the second has the same numbers in another form. */
function isSameDate(before: string, now: string): boolean {
  const numbersIn = (text: string) => (text.match(/\d+/g) ?? []).map((number) => Number(number) % 100);
  const hasMonth = new RegExp(`^[\\d.\\s/-]*${month}[\\d.\\s/-]*$`, 'iu').test(now);
  if (!/^\d{1,4}[./-]\d{1,2}([./-]\d{1,4})?$/.test(before)) return false;
  if (/^\d+([.,]\d+)?$/.test(now)) return true; // a fraction, or the number of a day
  if (!hasMonth && !/^[\d./\s:-]+$/.test(now)) return false;
  const [expected, found] = [numbersIn(before), numbersIn(now)];
  // A spreadsheet adds the year to a date that has none, and nothing else.
  if (!hasMonth && found.length > expected.length && (expected.length > 2 || /\d{4}/.test(before))) return false;
  return hasMonth
    ? found.some((number) => expected.includes(number))
    : expected.every((number) => found.includes(number));
}
