/** The cell of an exported table that clears a value. */
export const clearingCell = '-';

const month = '(?:jan|feb|mar|mär|mrz|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez)\\p{L}*';

/** Matches text that a spreadsheet reads as a formula, number, date or boolean (English or German), or that begins with `'`. */
const misread = new RegExp(
  [
    String.raw`^['=+\-@\t\r]`,
    String.raw`^[\d.,:/()\s\u20ac$%-]*\d[\d.,:/()\s\u20ac$%-]*$`,
    String.raw`^[\d.,]+e[+-]?\d+$`,
    '^(true|false|wahr|falsch)$',
    String.raw`^\d{1,4}[. /-]*${month}[. /-]*\d*$`,
    String.raw`^${month}\.?[ /-]\d{1,4}(, ?\d{4})?$`,
  ].join('|'),
  'iu',
);

/** Paths such as `/Campaigns` contain nothing that is misread. */
const isPath = (text: string) => /^\/(?!\d)/.test(text);

/**
 * What a spreadsheet would read as a formula, after a semicolon or a line break. A spreadsheet that separates by
 * semicolons, as Excel does in most of Europe, splits a cell there, since it does not see quotes within a row. The
 * pattern also matches what NFC makes of these characters.
 */
const [separator, formula] = ['[;\u037E\\r\\n]', String.raw`(?=(?:'|(?![\r\n])[\s\p{Cc}])*[=\u2260+\-@])`];
const unguarded = new RegExp(`${separator}${formula}`, 'gu');
const guarded = new RegExp(`(${separator})'${formula}`, 'gu');

/**
 * Protects a cell that a spreadsheet would change, by a leading `'` and one after each semicolon or line break before a
 * formula. `unguardCell` removes them.
 */
export const guardCell = (text: string) => {
  const trimmed = text.trim(); // as the reader does
  const split = trimmed.replace(unguarded, "$&'");
  const shown = trimmed.replace(/^[\s\p{Cc}]+/u, ''); // spreadsheets drop control characters
  if (shown === clearingCell || (misread.test(shown) && !isPath(shown))) return `'${split}`;
  return split === trimmed ? text : split;
};

export const unguardCell = (text: string) => text.replace(/^'/, '').replace(guarded, '$1');

/** Maximum length of a cell in Excel, which cuts the rest. */
const maxCellLength = 32_767;

/** Letters with accents in Windows-1252 that are not in Latin-1. */
const windowsLetters = 'ŠŽšžŸ';

/**
 * Describes how a spreadsheet seems to have reformatted a text. Returns undefined if it shows no sign of that. This is a
 * heuristic: it does not detect `TRUE` that became `WAHR`.
 */
export function describeReformatting(before: string, now: string): string | undefined {
  if (before === now) return undefined;
  const withoutAccents = [...before]
    .map((letter) => (letter > '\xff' && !windowsLetters.includes(letter) ? removeAccents(letter) : letter))
    .join('');
  if (now === withoutAccents || hasQuestionMarks(before, now)) return 'letters were lost';
  if (now.length >= maxCellLength && now.length < before.length && before.startsWith(now)) return 'the end is cut off';
  if (isSameNumber(before, now)) return 'only the form of the number differs';
  return isSameDate(before, now) ? 'it looks like a date that was reformatted' : undefined;
}

const removeAccents = (letter: string) => letter.normalize('NFD').replace(/\p{M}/gu, '');

/** Returns true if texts differ only in letters that became `?`, because an encoding does not have them. */
function hasQuestionMarks(before: string, now: string): boolean {
  // Excel writes two for a letter of two UTF-16 code units.
  const isLossOf = (letters: string[], found: string[]) =>
    letters.length === found.length &&
    letters.every((letter, at) => letter === found[at] || (letter > '\x7f' && found[at] === '?'));
  return isLossOf([...before], [...now]) || isLossOf(before.split(''), now.split(''));
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
