import { stripVTControlCharacters } from 'node:util';

/** Matches characters that are two columns wide: CJK, full-width forms and emoji. */
const wide = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\u{1f300}-\u{1faff}]/u;

/** Returns the width of a text in columns, without escape sequences. */
const widthOf = (text: string) =>
  [...stripVTControlCharacters(text)].reduce((sum, character) => sum + (wide.test(character) ? 2 : 1), 0);

/** Maximum indentation of continuation lines, as a part of the width. */
const maxIndentRatio = 0.5;

/**
 * Wraps each line at spaces so that no word is broken at the edge of the terminal. A line that begins with a term,
 * two spaces and a text continues below the text. A word longer than the line stays whole.
 */
export function wrapText(text: string, width: number): string {
  return text
    .split('\n')
    .flatMap((line) => (widthOf(line) <= width ? [line] : wrapLine(line, width)))
    .join('\n');
}

function wrapLine(line: string, width: number): string[] {
  const [, indent = '', term = ''] = /^(\s*)(\S(?:.*?\S)?\s{2,}(?=\S))?/.exec(line) ?? [];
  const hanging = widthOf(indent + term);
  if (hanging > width * maxIndentRatio) {
    const text = line.slice(indent.length + term.length);
    const below = `${indent}  ${text}`;
    // A wide term stands above its text.
    return [
      ...wrapLine(indent + term.trimEnd(), width),
      ...(widthOf(below) <= width ? [below] : wrapLine(below, width)),
    ];
  }
  // Commands and causes are indented by two.
  const continuation = ' '.repeat(term === '' && indent.length === 2 ? 4 : hanging);
  const lines: string[] = [];
  let current = indent + term;
  let isEmpty = true;
  for (const word of line.slice(current.length).split(' ')) {
    const joined = isEmpty ? current + word : `${current} ${word}`;
    if (widthOf(joined) <= width || (isEmpty && lines.length > 0)) current = joined;
    else {
      if (current.trim() !== '') lines.push(current.trimEnd());
      // A word that fits on no line of this indentation starts further left.
      const isTooLong = widthOf(word) > width - continuation.length;
      current = (isTooLong ? '  '.slice(0, Math.max(0, Math.min(2, width - widthOf(word)))) : continuation) + word;
    }
    isEmpty = false;
  }
  return [...lines, current];
}
