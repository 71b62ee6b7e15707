import { compileGlobs } from '../../../shared/glob.ts';
import { leftBy } from '../../../shared/leftovers.ts';
import { isWindows } from '../../../shared/platform.ts';
import { escapeControls } from '../../../shared/sanitize.ts';
import { expandBraces } from '../../glob.ts';
import { toSlashes } from '../../local-path.ts';

type Filters = { include: readonly string[]; exclude: readonly string[] };

/**
 * A filter: a glob that begins with `/` or `./` is matched from the top of the directory, any other at any depth. It
 * matches a file, or a directory and so all that is in it; with a slash at its end, directories only.
 */
class PathFilter {
  readonly #matchesFile: (path: string) => boolean;
  readonly #matchesDirectory: (path: string) => boolean;
  /** The directory that was asked for last: files of one directory come one after the other. */
  #last = { directory: '', isMatch: false };
  /** True once it has matched. */
  isUsed = false;

  constructor(pattern: string) {
    const rows = expandBraces(toSlashes(pattern)).flatMap(parseFilter);
    const compile = (some: typeof rows) =>
      compileGlobs(
        some.map(({ glob }) => glob),
        { ignoreCase: isWindows },
      );
    this.#matchesFile = compile(rows.filter(({ isDirectory }) => !isDirectory));
    this.#matchesDirectory = compile(rows);
  }

  /** Returns true if a file or directory matches, or one that it is in. @param path relative, with slashes */
  matches(path: string, isDirectory: boolean): boolean {
    const isMatch = this.#matchesAbove(path) || (isDirectory ? this.#matchesDirectory(path) : this.#matchesFile(path));
    this.isUsed ||= isMatch;
    return isMatch;
  }

  #matchesAbove(path: string): boolean {
    const directory = path.slice(0, Math.max(0, path.lastIndexOf('/')));
    if (directory === '') return false;
    if (directory !== this.#last.directory) this.#last = { directory, isMatch: this.matches(directory, true) };
    return this.#last.isMatch;
  }
}

/**
 * @param alternative a result of `expandBraces`
 * @returns a glob of relative paths, and true if of directories only; nothing for an empty text, which matches nothing
 */
function parseFilter(alternative: string): { glob: string; isDirectory: boolean }[] {
  const relative = alternative.replace(/^(?:\.?\/)+/, '');
  // All in a directory, `day1/**`, is the directory, which then need not be walked.
  const glob = relative.replace(/(?:\/(?:\*{2,})?)+$/, '');
  if (glob === '') return [];
  return [{ glob: relative === alternative ? `**/${glob}` : glob, isDirectory: glob !== relative }];
}

/** The filters of the user. They decide about files that are missing, too. */
export class PathRules {
  readonly #include: readonly PathFilter[];
  readonly #exclude: readonly PathFilter[];
  readonly #filters: Filters;

  /** @throws CodedError `usage` (exit 2) if a filter has too many alternatives */
  constructor(filters: Filters) {
    this.#filters = filters;
    this.#include = filters.include.map((pattern) => new PathFilter(pattern));
    this.#exclude = filters.exclude.map((pattern) => new PathFilter(pattern));
  }

  /**
   * Returns true for a file or directory whose path the filters take, and that of each directory that it is in. A directory
   * that no `include` matches is taken, since a file in it may match.
   *
   * @param path relative to the directory that the user named, with slashes
   */
  take(path: string, isDirectory: boolean): boolean {
    const isExcluded = matchesAny(this.#exclude, path, isDirectory);
    const isIncluded = isDirectory || this.#include.length === 0 || matchesAny(this.#include, path, false);
    return isIncluded && !isExcluded;
  }

  /** Returns a message for each filter that has matched nothing so far. */
  describeUnused(names: Record<keyof Filters, string>): string[] {
    return (['include', 'exclude'] as const).flatMap((kind) => {
      const filters = kind === 'include' ? this.#include : this.#exclude;
      return this.#filters[kind]
        .filter((_, at) => !filters[at]?.isUsed)
        .map((pattern) => `${names[kind]} '${escapeControls(pattern)}' matched nothing`);
    });
  }
}

/** Returns the programs that left a file or directory, or one that it is in; undefined if none did. */
export function leftAtBy(
  path: string,
  isDirectory: boolean,
  isBeside: ((name: string) => boolean) | undefined,
): string | undefined {
  const names = path.split('/');
  const name = names.pop() ?? '';
  for (const directory of names) {
    const from = leftBy(directory, true);
    if (from !== undefined) return from;
  }
  return leftBy(name, isDirectory, isBeside);
}

/** Asks each filter that has not matched yet, so that one is not taken for unused because another matched first. */
function matchesAny(filters: readonly PathFilter[], path: string, isDirectory: boolean): boolean {
  let isMatch = false;
  for (const filter of filters) if ((!isMatch || !filter.isUsed) && filter.matches(path, isDirectory)) isMatch = true;
  return isMatch;
}
