/*
 * The one language of globs, for local paths and for paths of the library. `*` is any characters of one name, `**` as a
 * whole name any number of directories, `?` one character, `{a,b}` alternatives, which can be nested. A backslash makes
 * the next character literal. All other characters are themselves. Wildcards match every name there is: hidden files,
 * `.`, `..`, and names with a line break. No package does that: all take `.` and `..` for parts of a path, and most
 * give brackets, parentheses or `!` a meaning, which are common in names.
 */

/** Returns true for `**`, which stands for any number of directories. */
export const isGlobstar = (name: string) => /^\*{2,}$/.test(name);

/** Removes the backslashes that make characters literal. */
export const unescapeGlob = (glob: string) => glob.replace(/\\(.)/gsu, '$1');

/**
 * Returns a function that matches paths, relative and with slashes, with any of several globs. Composed and decomposed
 * letters are the same. It takes at most the square of the path's length: a part between two wildcards is never moved
 * again once it was found, since nothing that follows could then match that did not match before.
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
    for (const name of glob.normalize('NFC').split('/').filter(Boolean))
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
  return (relativePath) => regExp.test(relativePath.normalize('NFC'));
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
