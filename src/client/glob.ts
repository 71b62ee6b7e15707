import { usageError } from './errors.ts';

/*
 * The one language of globs, for local paths and for paths of the library. `*` is any characters of one name, `**` as a
 * whole name any number of directories, `?` one character, `{a,b}` alternatives, which can be nested. A backslash makes
 * the next character literal. All other characters are themselves. Wildcards match every name there is: hidden files,
 * `.`, `..`, and names with a line break. No package does that: all take `.` and `..` for parts of a path, and most
 * give brackets, parentheses or `!` a meaning, which are common in names.
 */

/** Maximum number of patterns that the alternatives of a glob combine to. */
const maxAlternatives = 1_000;

/** Returns true if a text has a wildcard, alternatives such as `{a,b}`, or an escaped special character. */
export const isGlob = (text: string) => /[*?]|\{[^}]*,[^}]*\}|\\[^\p{L}\p{N}]/u.test(text);

const isWildcard = (name: string) => /[*?]/.test(name.replace(/\\./gsu, ''));

/** Returns true for `**`, which stands for any number of directories. */
const isGlobstar = (name: string) => /^\*{2,}$/.test(name);

/** Returns a glob that matches only this name or path. */
export const escapeGlob = (path: string) => path.replace(/[\\*?{},]/g, '\\$&');

/** Removes the backslashes that make characters literal. */
const unescapeGlob = (glob: string) => glob.replace(/\\(.)/gsu, '$1');

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

/**
 * Returns a function that matches paths, relative and with slashes, with any of several globs. It takes at most the
 * square of the path's length: a part between two wildcards is never moved again once it was found, since nothing that
 * follows could then match that did not match before.
 *
 * @param alternatives results of `expandBraces`
 */
export function compileGlobs(
  alternatives: readonly string[],
  { ignoreCase = false } = {},
): (relativePath: string) => boolean {
  if (alternatives.length === 0) return () => false;
  let groups = 0;
  const commit = (source: string) => `(?=(?<g${++groups}>${source}))\\k<g${groups}>`;
  const sourceOf = (glob: string) => {
    const parts: string[][] = [[]];
    for (const name of glob.split('/').filter(Boolean))
      if (isGlobstar(name)) parts.push([]);
      else parts.at(-1)?.push(nameSource(name, commit));
    const directories = (names: readonly string[]) => names.map((name) => `${name}/`).join('');
    const [first = [], ...others] = parts;
    const last = others.pop();
    if (!last) return first.join('/');
    const middle = others.filter((names) => names.length > 0);
    const between = middle.map((names) => commit(`(?:[^/]*/)*?${directories(names)}`)).join('');
    return directories(first) + between + (last.length > 0 ? `(?:[^/]*/)*${last.join('/')}` : '.*');
  };
  const regExp = new RegExp(`^(?:${alternatives.map(sourceOf).join('|')})$`, ignoreCase ? 'sui' : 'su');
  return (relativePath) => regExp.test(relativePath);
}

/** Returns the regular expression of one name. @param commit makes an expression that is not tried again */
function nameSource(name: string, commit: (source: string) => string): string {
  const chunks = [''];
  for (const [token] of name.matchAll(/\\.|\*+|./gsu))
    if (token.startsWith('*')) chunks.push('');
    else
      chunks.push(chunks.pop() + (token === '?' ? '[^/]' : unescapeGlob(token).replace(/[\\^$.*+?()[\]{}|]/, '\\$&')));
  const [first = '', ...others] = chunks;
  const last = others.pop();
  if (last === undefined) return first;
  return `${first}${others.map((chunk) => commit(`[^/]*?${chunk}`)).join('')}[^/]*${last}`;
}
