import { statSync } from 'node:fs';
import { closestSpellings } from '../../client/spelling.ts';
import { quoteForShell } from '../../shared/sanitize.ts';
import type { TypedLine } from '../shortcuts.ts';
import { type ForeignLine, type ForeignWord, foreignCommands } from './foreign-commands.ts';
import { foreignLines } from './foreign-lines.ts';
import { foreignOptions } from './foreign-options.ts';

/** Suggested replacement for a word, and the reason if there is no equivalent. */
type WordAnswer = { hint: string; reason?: string | undefined };

/** `about` is the word that the answer is about. */
type LineAnswer = WordAnswer & { about: string | undefined; matched: string };

/**
 * Returns the replacement for a word of another program or of an older version, if the table has one.
 *
 * @param path command that was typed before the word, without `mediactl`, such as `assets`, `ls`
 * @param word unknown command, or unknown option with its hyphens and without a value
 * @param known names of the subcommands, or else of the options, of that command
 */
export function findAlternative(
  path: readonly string[],
  word: string,
  known: readonly string[],
): WordAnswer | undefined {
  const rows = word.startsWith('-') ? foreignOptions : foreignCommands;
  const row = rows.find(
    (each) => each.words.split(' ').includes(word) && isAfter(each, path, word) && isPossible(each, known),
  );
  if (!row) return undefined;
  return {
    hint: row.use.replaceAll('{verb}', path.at(-1) ?? '').replaceAll('{word}', word),
    reason: row.cannot,
  };
}

/** Minimum number of letters of a word that may be a misspelling: `--all` is none of `--acl`. */
const minLetters = 4;
const lettersOf = (word: string) => word.replace(/^-+/, '').length;

/** Returns the row of a known word that an unknown one is a misspelling of; never one of a word that deletes. */
export function findMisspelled(
  path: readonly string[],
  word: string,
  known: readonly string[],
): WordAnswer | undefined {
  if (lettersOf(word) < minLetters) return undefined;
  const rows = word.startsWith('--') ? foreignOptions : foreignCommands;
  const words = rows.filter((row) => isAfter(row, path, word)).flatMap((row) => row.words.split(' '));
  const long = new Set(words.filter((each) => lettersOf(each) >= minLetters));
  const [closest, other] = closestSpellings(word, [...long]);
  const answer = closest === undefined || other !== undefined ? undefined : findAlternative(path, closest, known);
  return answer && !/\b(?:rm|forget|reset|logout)\b|--prune/.test(answer.hint) ? answer : undefined;
}

/** Stands for a space inside a word while a line is matched: `\S` matches it, unlike any other space. */
const spaceInWord = '\ue000';
const withSpaces = (text: string) => text.replaceAll(spaceInWord, ' ');

/** Returns what does the same as a whole line, if the table has one of that kind. */
export function findLine({ names, words }: TypedLine, when?: ForeignLine['when']): LineAnswer | undefined {
  const text = words.map((word) => word.replaceAll(' ', spaceInWord)).join(' ');
  for (const row of foreignLines) {
    const match = (!when || row.when === when) && isTypedAfter(row, names) ? row.line.exec(text) : null;
    if (!match || (row.is && !isHere(withSpaces(match[1] ?? ''), row.is))) continue;
    const group = (at: number) =>
      (match[at] ?? '')
        .split(' ')
        .map((word) => quoteForShell(withSpaces(word)))
        .join(' ');
    const hint = row.use
      .replaceAll('{verb}', names[0])
      .replaceAll('{words}', () =>
        words
          .filter((word) => word !== '--sync')
          .map(quoteForShell)
          .join(' '),
      )
      .replaceAll(/\{(\d)\}/g, (_, at: string) => group(Number(at)));
    return { hint, reason: row.cannot, about: match[1] && withSpaces(match[1]), matched: withSpaces(match[0]) };
  }
  return undefined;
}

const isTypedAfter = ({ after }: ForeignLine, names: readonly string[]) => names.some((name) => endsInOne(after, name));

/** Returns true if a command, such as `assets ls`, ends in one of these words; `mediactl sync` is that command alone. */
const endsInOne = (ends: readonly string[], command: string) =>
  ends.some((end) => end === command || (end !== '' && ` mediactl ${command}`.endsWith(` ${end}`)));

function isHere(path: string, kind: 'file' | 'directory'): boolean {
  try {
    const found = statSync(path);
    return kind === 'directory' ? found.isDirectory() : found.isFile();
  } catch {
    return false;
  }
}

function isAfter({ after }: ForeignWord, path: readonly string[], word: string): boolean {
  const typed = path.join(' ');
  if (after) return endsInOne(after, typed);
  return word.startsWith('-') || ['', 'assets', 'videos'].includes(typed);
}

/** Returns false if the answer begins with an option that the command does not have. */
function isPossible({ use }: ForeignWord, known: readonly string[]): boolean {
  const [option] = /^--?[a-z-]+/i.exec(use) ?? [];
  return option === undefined || known.includes(option);
}

/** Commands and options that delete or replace data. They are never suggested, since a typing error could run them. */
const destructive = /^(rm|delete|forget|reset|logout|--prune|--trash|--yes|-y|--force)$/;

/** Returns a suggestion with the known names of which an unknown command or option is a spelling error, if any are. */
export function findSuggestion(unknown: string, known: readonly string[]): string | undefined {
  const similar = closestSpellings(unknown, known).filter((each) => !destructive.test(each));
  return similar.length > 0 ? `did you mean ${similar.join(' or ')}?` : undefined;
}
