import { quoteForShell } from '../shared/sanitize.ts';
import type { SuggestionProfile } from './settings/settings.ts';

/** Words that follow the name of the program in a sentence, such as "another mediactl process". */
const sentence = /^(?:process|has)\b/;

/** Commands that act on profiles themselves, or on none. */
const withoutProfile = /^(?:auth (?:ls|switch|logout)|logout|commands|completion|help)\b/;
/** Commands that do not act on the current profile unless they name it. */
const withoutCurrent = /^(?:auth )?login\b/;

/**
 * Adds `--profile NAME` to the commands in a text, so that a user who pastes one acts on the account that the text is
 * about. Leaves out those that name a profile, that depend on none, and text in quotes.
 */
export function nameProfile(text: string, profile: SuggestionProfile | undefined): string {
  if (profile === undefined) return text;
  const command = /'[^'\n]*'|\bmediactl ((?=[a-z])(?:'[^'\n]*'|(?!\bmediactl [a-z])[^\n])*)/g;
  return text.replace(command, (whole, rest?: string) => {
    if (rest === undefined || sentence.test(rest) || withoutProfile.test(rest) || /--(?:profile|help)\b/.test(rest))
      return whole;
    return `${programFor(profile, withoutCurrent.test(rest))} ${rest}`;
  });
}

/** Returns the first words of a command for the account of a profile. @param always true to name the current one, too */
export const programFor = (profile: SuggestionProfile | undefined, always = false) =>
  profile && (always || !profile.isCurrent) ? `mediactl --profile ${quoteForShell(profile.profile)}` : 'mediactl';

/**
 * Returns a next step that works as it stands: for the account of the profile in use, or with variables in place of what
 * only a profile can store.
 */
export function nextStepFor(text: string, profile: SuggestionProfile | undefined): string {
  if (profile) return nameProfile(text, profile);
  return text
    .replace(/\bmediactl config set field_names\.(\w+) (?=\S)/g, 'export MEDIACTL_FIELD_NAMES=$1=')
    .replace(/\bmediactl config set primary_workspace (?=\S)/g, 'export MEDIACTL_PRIMARY_WORKSPACE=')
    .replace(/, or field_names\.(\w+) (?=\S)/g, ', or export MEDIACTL_FIELD_NAMES=$1=')
    .replace('mediactl auth ls, to list the profiles', 'or correct MEDIACTL_BASE_URL')
    .replace(/\bmediactl workspaces use (?=\S)/g, 'export MEDIACTL_WORKSPACE=');
}
