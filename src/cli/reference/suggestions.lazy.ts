import { closestSpellings } from '../../client/spelling.ts';
import { type ForeignWord, foreignCommands } from './foreign-commands.ts';
import { foreignOptions } from './foreign-options.ts';

/** Suggested replacement for a word, and the reason if there is no equivalent. */
type WordAnswer = { hint: string; reason?: string | undefined };

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

function isAfter({ after }: ForeignWord, path: readonly string[], word: string): boolean {
  const typed = path.join(' ');
  if (after) return after.some((end) => typed === end || typed.endsWith(` ${end}`));
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
