import { isGlobstar, unescapeGlob } from '../shared/glob.ts';
import { usageError } from './errors.ts';

/*
 * The text of globs as the user enters them (the language: src/shared/glob.ts): their alternatives, and the directory
 * in which each is searched.
 */

/** Maximum number of patterns that the alternatives of a glob combine to. */
const maxAlternatives = 1_000;

/** Returns true if a text has a wildcard, alternatives such as `{a,b}`, or an escaped special character. */
export const isGlob = (text: string) => /[*?]|\{[^}]*,[^}]*\}|\\[^\p{L}\p{N}]/u.test(text);

const isWildcard = (name: string) => /[*?]/.test(name.replace(/\\./gsu, ''));

/** Returns a glob that matches only this name or path. */
export const escapeGlob = (path: string) => path.replace(/[\\*?{},]/g, '\\$&');

/**
 * Returns the globs without alternatives that a glob stands for. A brace without a comma is literal, as in a shell.
 *
 * @throws CodedError `usage` (exit 2) if there are more than `maxAlternatives`
 */
export function expandBraces(glob: string): string[] {
  for (let at = 0; at < glob.length; at++) {
    if (glob[at] === '\\') at++;
    else if (glob[at] === '{') {
      const group = alternativesAt(glob, at);
      if (!group) continue;
      const heads = group.alternatives.flatMap(expandBraces);
      const tails = expandBraces(glob.slice(group.end));
      if (heads.length * tails.length > maxAlternatives)
        throw usageError(`a glob has more than ${maxAlternatives} alternatives`, 'use several globs');
      return heads.flatMap((head) => tails.map((tail) => glob.slice(0, at) + head + tail));
    }
  }
  return [glob];
}

/** Returns the alternatives between the brace at `start` and its partner; undefined if there are not several. */
function alternativesAt(glob: string, start: number): { alternatives: string[]; end: number } | undefined {
  const alternatives: string[] = [];
  let [depth, from] = [0, start + 1];
  for (let at = start; at < glob.length; at++) {
    const char = glob[at];
    if (char === '\\') at++;
    else if (char === '{') depth++;
    else if (char === ',' && depth === 1) {
      alternatives.push(glob.slice(from, at));
      from = at + 1;
    } else if (char === '}' && --depth === 0) {
      alternatives.push(glob.slice(from, at));
      return alternatives.length > 1 ? { alternatives, end: at + 1 } : undefined;
    }
  }
  return undefined;
}

/** A glob without alternatives, split where its first wildcard is. */
export type SplitGlob = {
  /** Directory before the first wildcard, as it is named, with its last slash; empty if there is none. */
  base: string;
  /** The glob of paths in that directory: at least the last name. */
  rest: string;
  /** Number of names of a path that can match: infinite with `**`. */
  maxDepth: number;
};

/** @param alternative a result of `expandBraces` */
export function splitGlob(alternative: string): SplitGlob {
  const names = alternative.split('/');
  const wildcard = names.findIndex(isWildcard);
  const fixed = names.slice(0, wildcard < 0 ? names.length - 1 : Math.min(wildcard, names.length - 1));
  const rest = names.slice(fixed.length);
  return {
    base: fixed.map((name) => `${unescapeGlob(name)}/`).join(''),
    rest: rest.join('/'),
    maxDepth: rest.some(isGlobstar) ? Number.POSITIVE_INFINITY : rest.length,
  };
}
