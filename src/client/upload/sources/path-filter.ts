import { isWindows } from '../../../contract/platform.ts';
import { escapeControls } from '../../../contract/sanitize.ts';
import { compileGlobs, expandBraces } from '../../glob.ts';
import { toSlashes } from '../../local-path.ts';
import { leftovers } from './leftovers.ts';

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
  /** True if only the last name of a path decides, which is faster. */
  readonly #isOfNames: boolean;
  /** The directory that was asked for last: files of one directory come one after the other. */
  #last = { directory: '', isMatch: false };
  /** True once it has matched. */
  isUsed = false;

  /** @param patterns globs of which a path matches at least one */
  constructor(patterns: readonly string[], { ignoreCase }: { ignoreCase: boolean }) {
    const rows = patterns.map(toSlashes).flatMap(expandBraces).map(parseFilter);
    const files = rows.filter(({ isDirectory }) => !isDirectory);
    this.#isOfNames = rows.every(({ glob }) => /^\*\*\/[^/]+$/.test(glob));
    const start = this.#isOfNames ? '**/'.length : 0;
    const compile = (some: typeof rows) =>
      compileGlobs(
        some.map(({ glob }) => glob.slice(start)),
        { ignoreCase },
      );
    this.#matchesFile = compile(files);
    this.#matchesDirectory = files.length === rows.length ? this.#matchesFile : compile(rows);
  }

  /** Returns true if a file or directory matches, whatever it is in. @param path relative, with slashes */
  matchesItself(path: string, isDirectory: boolean): boolean {
    const text = this.#isOfNames ? path.slice(path.lastIndexOf('/') + 1) : path;
    const isMatch = isDirectory ? this.#matchesDirectory(text) : this.#matchesFile(text);
    this.isUsed ||= isMatch;
    return isMatch;
  }

  /** Returns true if a file or directory matches, or one that it is in. @param path relative, with slashes */
  matches(path: string, isDirectory: boolean): boolean {
    return this.#matchesAbove(path) || this.matchesItself(path, isDirectory);
  }

  #matchesAbove(path: string): boolean {
    const directory = path.slice(0, Math.max(0, path.lastIndexOf('/')));
    if (directory === '') return false;
    if (directory !== this.#last.directory) this.#last = { directory, isMatch: this.matches(directory, true) };
    return this.#last.isMatch;
  }
}

/** @param alternative a result of `expandBraces` @returns a glob of relative paths, true if of directories only */
function parseFilter(alternative: string): { glob: string; isDirectory: boolean } {
  const relative = alternative.replace(/^(?:\.?\/)+/, '');
  // All in a directory, `day1/**`, is the directory, which then need not be walked.
  const glob = relative.replace(/(?:\/(?:\*{2,})?)+$/, '');
  return {
    glob: relative === alternative ? `**/${glob}` : glob,
    isDirectory: glob !== relative,
  };
}

/** Reason why a file or directory is left out: the filters of the user, or because other programs left it. */
export type LeftOutReason = 'filter' | 'leftover';

/** The filters of an upload. They decide about files that are missing, too. */
export class PathRules {
  readonly #include: readonly PathFilter[];
  readonly #exclude: readonly PathFilter[];
  readonly #leftovers: PathFilter | undefined;
  readonly #options: PathFilterOptions;

  constructor(options: PathFilterOptions) {
    const create = (pattern: string) => new PathFilter([pattern], { ignoreCase: isWindows });
    this.#options = options;
    this.#include = options.include.map(create);
    this.#exclude = options.exclude.map(create);
    const patterns = leftovers.map(({ pattern }) => pattern);
    this.#leftovers = options.allFiles ? undefined : new PathFilter(patterns, { ignoreCase: true });
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
    return this.#leftovers?.matches(path, isDirectory) ? 'leftover' : undefined;
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

/** Asks each filter that has not matched yet, so that one is not taken for unused because another matched first. */
function matchesAny(filters: readonly PathFilter[], path: string, isDirectory: boolean): boolean {
  let isMatch = false;
  for (const filter of filters) if ((!isMatch || !filter.isUsed) && filter.matches(path, isDirectory)) isMatch = true;
  return isMatch;
}
