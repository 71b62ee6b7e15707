import { isUtf8 } from 'node:buffer';
import { type BigIntStats, type Dirent, statSync } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { pluralize } from '../../../contract/figures.ts';
import { compileGlobs } from '../../../contract/glob.ts';
import { isWindows } from '../../../contract/platform.ts';
import { escapeControls } from '../../../contract/sanitize.ts';
import { CodedError, usageError } from '../../errors.ts';
import { expandBraces, isGlob, type SplitGlob, splitGlob } from '../../glob.ts';
import { toSlashes } from '../../local-path.ts';
import { isProjectFile, type OwnFiles } from './own-files.ts';
import { type FilterNames, type PathFilterOptions, PathRules } from './path-filter.ts';
import { describeAt, describeFile, fileAt, notAFile, type UploadFile, unreadableFile } from './upload-file.ts';

export type WalkOptions = PathFilterOptions & {
  /**
   * Change times, in milliseconds since the Unix epoch, with which a file may still be written. A later one says that a
   * clock is wrong.
   */
  recent?: { since: number; until: number } | undefined;
  /** True if it is no mistake that a source has no file, as each is moved away. */
  mayBeEmpty?: boolean | undefined;
  /** Files of mediactl itself, which are never uploaded. */
  own: OwnFiles;
  /** Real path of a file to skip, such as an output file that is being written. */
  excludedPath?: string | undefined;
  onDuplicate?: (file: UploadFile) => void;
  /** Names of the filter options, for messages. */
  names: FilterNames;
};

type WalkFailure = { path: string; error: CodedError };
type DirectoryToWalk = { directory: string; typedPath: string; glob?: SplitGlob };
type WalkRoot = { file: UploadFile; typedPath: string } | DirectoryToWalk;

/** Returns true if a walk selects the file at a path, which is relative to its directory, with slashes. */
export type PathSelector = (inside: string) => boolean;

/** @property isOwn true in a folder of mediactl itself, whose files are only counted */
type Selection = {
  maxDepth: number;
  isOwn: boolean;
  isSelected(path: string, isDirectory: boolean): boolean;
};

/** Maps each kind of skipped entry to its singular, its plural, and a note for the user. */
const skipKinds = {
  link: ['linked directory', 'linked directories', ', which may form a loop'],
  special: ['pipe, socket or device', 'pipes, sockets and devices', ''],
  own: ["file of mediactl's own configuration and state", "files of mediactl's own configuration and state", ''],
  recent: ['file that changed recently', 'files that changed recently', ', which may still be written (minimum age)'],
} as const;

const maxConcurrentStats = 64;
/** Number of files of a directory after which the walk lets other work run. */
const filesPerTurn = 64;

/**
 * Streams the files at the given paths as they are found, without collecting them in memory. A path that does not
 * exist might be a glob that no shell has expanded.
 */
export class FileWalker {
  readonly #options: WalkOptions;
  readonly #counts = new Map<keyof typeof skipKinds, number>();
  /** Directories that cannot be read, and files whose names are not UTF-8. */
  readonly failures: WalkFailure[] = [];
  /** Sizes of the files that were skipped because they changed recently. */
  readonly recentSizes = new Set<number>();
  readonly #rules: PathRules;
  /** Number of files and directories that other programs left, and the name of the first. */
  readonly #leftovers = { files: 0, directories: 0, example: '' };
  /** Paths as typed that gave a file, or an error that is reported. */
  readonly #fruitful = new Set<string>();
  #roots: WalkRoot[] = [];

  /** @throws CodedError `usage` (exit 2) if a filter has too many alternatives */
  constructor(options: WalkOptions) {
    this.#options = options;
    this.#rules = new PathRules(options);
  }

  /** Descriptions of the skipped entries, one per kind, such as "2 linked directories". */
  get skipped(): string[] {
    const { files, directories, example } = this.#leftovers;
    const left = [
      ...(files > 0 ? [pluralize(files, 'file')] : []),
      ...(directories > 0 ? [`${directories} ${directories === 1 ? 'directory' : 'directories'}`] : []),
    ].join(' and ');
    const note = `such as ${escapeControls(example)} (${this.#options.names.allFiles} uploads them)`;
    const others = [...this.#counts].map(([kind, count]) => {
      const [one, several, more] = skipKinds[kind];
      return `${count} ${count === 1 ? one : several}${more}`;
    });
    return left === '' ? others : [`${left} that other programs left, ${note}`, ...others];
  }

  /** Messages about the filters that matched nothing: no file that was walked, and none that a selector was asked for. */
  get unusedFilters(): string[] {
    return this.#rules.describeUnused(this.#options.names);
  }

  /** Paths as typed that gave no file, unless that is no mistake. Complete after `files` has ended. */
  get emptySources(): string[] {
    if (this.#options.recent || this.#options.mayBeEmpty) return [];
    return [...new Set(this.#roots.map(({ typedPath }) => typedPath))].filter((path) => !this.#fruitful.has(path));
  }

  /** True if any of the paths given to `checkPaths` is a directory, not a glob. */
  get hasDirectories(): boolean {
    return this.#roots.some((root) => 'directory' in root && root.glob === undefined);
  }

  /**
   * Returns the predicate by which the walk of a directory selects files, for their paths relative to it, with slashes.
   * It also decides about files that are missing, so that a file that the walk leaves out never counts as missing.
   */
  async createSelector(directory: string): Promise<PathSelector> {
    const real = await realpath(directory);
    const { own, excludedPath } = this.#options;
    return (inside) => {
      const path = join(real, inside);
      return this.#rules.reasonFor(inside, false) === undefined && path !== excludedPath && !own.includesFile(path);
    };
  }

  /** Yields all files at the paths given to `checkPaths`, which must be called first. */
  async *files(): AsyncGenerator<UploadFile> {
    const { excludedPath, onDuplicate } = this.#options;
    // Dedupe by real path, since several of the given paths might lead to the same file.
    const seen = this.#roots.length > 1 ? new Set<string>() : undefined;
    for (const root of this.#roots) {
      const { typedPath } = root;
      const failures = this.failures.length;
      for await (const file of 'file' in root ? [root.file] : this.#filesIn(root)) {
        this.#fruitful.add(typedPath);
        const { realPath = file.path } = file;
        if (realPath === excludedPath) continue;
        if (seen?.has(realPath)) onDuplicate?.(file);
        else yield file;
        seen?.add(realPath);
      }
      if (this.failures.length > failures) this.#fruitful.add(typedPath);
    }
  }

  async *#filesIn({ directory, typedPath, glob }: DirectoryToWalk): AsyncGenerator<UploadFile> {
    const relativePathOf = (path: string) => toSlashes(relative(directory, path));
    const real = await realpath(directory);
    // A glob takes the place of `include`.
    const isMatch = glob && compileGlobs([glob.rest], { ignoreCase: isWindows });
    for await (const file of this.#walk(directory, real, {
      isOwn: this.#options.own.includesDirectory(real),
      maxDepth: glob?.maxDepth ?? Number.POSITIVE_INFINITY,
      isSelected: (path, isDirectory) => {
        const reason = this.#rules.reasonFor(relativePathOf(path), isDirectory, isMatch);
        if (reason === 'leftover') this.#skipLeftover(path, isDirectory);
        return reason === undefined;
      },
    })) {
      if (glob === undefined) file.relativeDir = relativePathOf(dirname(file.path));
      file.typedPath = typedPath;
      yield file;
    }
  }

  /**
   * Checks that every given path can be uploaded, before anything is sent.
   *
   * @param mayBeGlob returns true if a path that does not exist might be a glob that no shell has expanded
   * @throws CodedError (exit 2) that names each path that cannot be uploaded
   */
  async checkPaths(paths: readonly string[], mayBeGlob: (path: string) => boolean = () => false): Promise<void> {
    const roots: PromiseSettledResult<WalkRoot[]>[] = [];
    for (let at = 0; at < paths.length; at += maxConcurrentStats) {
      const some = paths.slice(at, at + maxConcurrentStats);
      roots.push(...(await Promise.allSettled(some.map((path) => this.#resolveRoots(path, mayBeGlob(path))))));
    }
    const errors = roots.flatMap((root) => (root.status === 'rejected' ? [root.reason as Error] : []));
    if (errors.length === 1) throw errors[0];
    const problem = `${errors.length} of ${paths.length} sources cannot be uploaded`;
    const reason = errors.map(({ message }) => message).join('; ');
    if (errors.length > 1) throw usageError(problem, 'check the paths; nothing was sent', reason);
    this.#roots = roots.flatMap((root) => (root.status === 'fulfilled' ? root.value : []));
  }

  /** Returns nothing for a file that is too new, and several for a glob with alternatives. */
  async #resolveRoots(path: string, mayBeGlob: boolean): Promise<WalkRoot[]> {
    if (path === '-') return [{ file: { ...fileAt(path), typedPath: path, stream: {} }, typedPath: path }];
    let found: BigIntStats;
    try {
      found = await stat(path, { bigint: true });
    } catch (error) {
      const globs = mayBeGlob ? await parseGlob(path) : [];
      if (globs.length > 0) return globs;
      throw unreadableFile(path, error);
    }
    if (found.isDirectory()) return [{ directory: path, typedPath: path }];
    if (!found.isFile()) throw notAFile(path, false);
    if (this.#skipsRecent(path, found)) return [];
    return [{ file: await describeFile(path, found, this.#options.own), typedPath: path }];
  }

  /** Yields the matching files in a directory tree, in order of name. Follows links to files, not to directories. */
  async *#walk(directory: string, real: string, selection: Selection): AsyncGenerator<UploadFile> {
    const { maxDepth, isSelected, isOwn } = selection;
    const { own } = this.#options;
    const { entries, unreadable } = await this.#entriesOf(directory, isOwn);
    for (const [index, entry] of entries.entries()) {
      const { name } = entry;
      const path = join(directory, name);
      const isDirectory = entry.isDirectory();
      if ((isDirectory && maxDepth <= 1) || !isSelected(path, isDirectory)) continue;
      if (unreadable.has(name)) this.#fail(path, notUtf8(), isOwn);
      else if (isDirectory) {
        const below = { ...selection, maxDepth: maxDepth - 1, isOwn: isOwn || own.isFolder(path) };
        yield* this.#walk(path, join(real, name), below);
      } else {
        const isOwnFile = isOwn || isProjectFile(name) || (entry.isSymbolicLink() && own.includes(path));
        if (isOwnFile) this.#skip('own');
        const file = isOwnFile ? undefined : this.#fileAt(path, join(real, name));
        if (file) yield file;
        if (index % filesPerTurn === 0) await nextTurn();
      }
    }
  }

  #fileAt(path: string, real: string): UploadFile | undefined {
    const found = statIfReadable(path);
    // A dangling link, or a file deleted since the listing, is reported when it is opened.
    if (!found) return fileAt(path);
    if (!found.isFile()) this.#skip(found.isDirectory() ? 'link' : 'special');
    else if (!this.#skipsRecent(path, found)) return describeAt(path, real, found);
    return undefined;
  }

  /** Lists a directory in order of name. `unreadable` are the names that are not UTF-8. */
  async #entriesOf(folder: string, isOwn: boolean): Promise<{ entries: Dirent[]; unreadable: ReadonlySet<string> }> {
    try {
      const [entries, names] = await Promise.all([
        readdir(folder, { withFileTypes: true }),
        readdir(folder, { encoding: 'buffer' }),
      ]);
      // Node decodes a name that is not UTF-8 lossily, so the file cannot be opened by the decoded name.
      const unreadable = new Set(names.filter((name) => !isUtf8(name)).map(String));
      return { entries: entries.sort((a, b) => (a.name < b.name ? -1 : 1)), unreadable };
    } catch (error) {
      const problem = `cannot read the directory ${escapeControls(folder)}`;
      const hint = 'fix its permissions, or exclude it';
      const reason = (error as Error).message;
      this.#fail(folder, new CodedError(problem, { subcode: 'unreadable_file', reason, hint }), isOwn);
      return { entries: [], unreadable: new Set() };
    }
  }

  #fail(path: string, error: CodedError, isOwn: boolean): void {
    if (!isOwn) this.failures.push({ path, error });
  }

  /**
   * Skips a file that may still be written, and reports one from the future, which would be skipped for as long. Compares
   * the change time, since a copy can have any modification time.
   */
  #skipsRecent(path: string, { ctimeMs, size }: BigIntStats): boolean {
    const { recent } = this.#options;
    if (!recent || Number(ctimeMs) <= recent.since) return false;
    this.recentSizes.add(Number(size));
    if (Number(ctimeMs) <= recent.until) this.#skip('recent');
    else this.#fail(path, fromTheFuture(path, Number(ctimeMs)), false);
    return true;
  }

  #skipLeftover(path: string, isDirectory: boolean): void {
    this.#leftovers[isDirectory ? 'directories' : 'files']++;
    this.#leftovers.example ||= basename(path);
  }

  #skip(kind: keyof typeof skipKinds): void {
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1);
  }
}

/**
 * Returns the attributes of a file. Synchronous, because the thread pool would cost more than the call. On a network
 * file system, listing the directory has usually fetched the attributes of its files.
 */
function statIfReadable(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true });
  } catch {
    return undefined;
  }
}

/**
 * Returns the directories in which the files of a glob are searched, one for each of its alternatives; none if it is not
 * a glob, or if no such directory exists.
 */
async function parseGlob(path: string): Promise<DirectoryToWalk[]> {
  const pattern = toSlashes(path);
  if (!isGlob(pattern)) return [];
  const roots: DirectoryToWalk[] = [];
  for (const glob of expandBraces(pattern).map(splitGlob)) {
    const directory = glob.base === '' ? '.' : glob.base;
    const found = await stat(directory).catch(() => undefined);
    if (found?.isDirectory()) roots.push({ directory, typedPath: path, glob });
  }
  return roots;
}

const fromTheFuture = (path: string, changedAt: number) =>
  new CodedError(`${escapeControls(path)} has a time in the future`, {
    code: 'clock_skew',
    reason: `it changed at ${new Date(changedAt).toISOString()}, so that its minimum age is not known`,
    hint: 'set the clock of this machine or of the file’s disk, then touch the file',
  });

const notUtf8 = () =>
  new CodedError('its name is not valid UTF-8', {
    subcode: 'unreadable_file',
    hint: 'rename it; convmv renames many files at once',
  });
