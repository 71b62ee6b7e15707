import { compileGlobs } from '../../../contract/glob.ts';
import { isLeftover } from '../../../contract/leftovers.ts';
import { isWindows } from '../../../contract/platform.ts';
import { escapeControls } from '../../../contract/sanitize.ts';
import { expandBraces } from '../../glob.ts';
import { toSlashes } from '../../local-path.ts';

/** What decides which files of a directory are uploaded. */
export type PathFilterOptions = {
  /** Filters of which a file matches one; empty for all files. */
  include: readonly string[];
  /** Filters of which a file matches none. */
  exclude: readonly string[];
  /** True to upload what other programs left, too. */
  allFiles?: boolean | undefined;
};

/** Names of the options, for messages. */
export type FilterNames = Record<'include' | 'exclude' | 'allFiles', string>;

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

/** Reason why a file or directory is left out: the filters of the user, or because other programs left it. */
type LeftOutReason = 'filter' | 'leftover';

/** The filters of an upload. They decide about files that are missing, too. */
export class PathRules {
  readonly #include: readonly PathFilter[];
  readonly #exclude: readonly PathFilter[];
  readonly #options: PathFilterOptions;

  constructor(options: PathFilterOptions) {
    this.#options = options;
    this.#include = options.include.map((pattern) => new PathFilter(pattern));
    this.#exclude = options.exclude.map((pattern) => new PathFilter(pattern));
  }

  /**
   * Returns why a file or directory is left out because of its path, or because of a directory that it is in; undefined
   * if it is not. A directory that no `include` matches is not left out, since a file in it may match.
   *
   * @param path relative to the directory that the user named, with slashes
   * @param isIncluded returns true for the path of a file to include
   */
  reasonFor(
    path: string,
    isDirectory: boolean,
    isIncluded = (file: string) => this.#include.length === 0 || matchesAny(this.#include, file, false),
  ): LeftOutReason | undefined {
    const isExcluded = matchesAny(this.#exclude, path, isDirectory);
    if (!(isDirectory || isIncluded(path)) || isExcluded) return 'filter';
    return !this.#options.allFiles && isLeftoverPath(path, isDirectory) ? 'leftover' : undefined;
  }

  /** Returns a message for each filter that has matched nothing so far. */
  describeUnused(names: FilterNames): string[] {
    return (['include', 'exclude'] as const).flatMap((kind) => {
      const filters = kind === 'include' ? this.#include : this.#exclude;
      return this.#options[kind]
        .filter((_, at) => !filters[at]?.isUsed)
        .map((pattern) => `${names[kind]} '${escapeControls(pattern)}' matched nothing`);
    });
  }
}

/** Returns true if other programs left a file or directory, or one that it is in. */
function isLeftoverPath(path: string, isDirectory: boolean): boolean {
  const names = path.split('/');
  const last = names.length - 1;
  return names.some((name, at) => isLeftover(name, at < last || isDirectory));
}

/** Asks each filter that has not matched yet, so that one is not taken for unused because another matched first. */
function matchesAny(filters: readonly PathFilter[], path: string, isDirectory: boolean): boolean {
  let isMatch = false;
  for (const filter of filters) if ((!isMatch || !filter.isUsed) && filter.matches(path, isDirectory)) isMatch = true;
  return isMatch;
}
