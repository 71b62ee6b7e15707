import { isUtf8 } from 'node:buffer';
import { type BigIntStats, type Dirent, statSync } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isWindows } from '../../../contract/platform.ts';
import { escapeControls } from '../../../contract/sanitize.ts';
import { CodedError, usageError } from '../../errors.ts';
import { toSlashes } from '../../local-path.ts';
import { isProjectFile, type OwnFiles } from './own-files.ts';
import { describeAt, describeFile, fileAt, notAFile, type UploadFile, unreadableFile } from './upload-file.ts';

export type WalkOptions = {
  /** Globs that are matched against the relative path, or against the file name if the glob has no slash. */
  include: readonly string[];
  exclude: readonly string[];
  /** Latest change time, in milliseconds since the Unix epoch: a newer file may still be written. */
  changedBefore?: number | undefined;
  /** Files of mediactl itself, which are never uploaded. */
  own: OwnFiles;
  /** Real path of a file to skip, such as an output file that is being written. */
  excludedPath?: string | undefined;
  onDuplicate?: (file: UploadFile) => void;
};

type WalkFailure = { path: string; error: CodedError };
type DirectoryToWalk = { directory: string; typedPath: string; glob?: string };
type WalkRoot = { file: UploadFile } | DirectoryToWalk;

/** Returns true if a walk selects the file at a path, which is relative to its directory, with slashes. */
export type PathSelector = (inside: string) => boolean;

/** @property isOwn true in a folder of mediactl itself, whose files are only counted */
type Selection = {
  maxDepth: number;
  isOwn: boolean;
  isSelected(path: string): boolean;
  isExcluded(path: string): boolean;
};

/** Maps each kind of skipped entry to its singular, its plural, and a note for the user. */
const skipKinds = {
  system: ['system file', 'system files', ', such as .DS_Store (the include pattern * uploads all files)'],
  link: ['linked directory', 'linked directories', ', which may form a loop'],
  special: ['pipe, socket or device', 'pipes, sockets and devices', ''],
  own: ["file of mediactl's own configuration and state", "files of mediactl's own configuration and state", ''],
  recent: ['file that changed recently', 'files that changed recently', ', which may still be written (minimum age)'],
} as const;

/** Options of all globs. Windows finds a file by its name in any case. */
const globOptions = { nocase: isWindows, windows: false };

const maxConcurrentStats = 64;
/** Number of files of a directory after which the walk lets other work run. */
const filesPerTurn = 64;

/** Rule that leaves a file out because of its path: a glob, or a system file that no glob includes. */
type PathRule = 'glob' | 'system';

/** Returns the rules for paths relative to a directory, with slashes. @param glob replaces `include` */
async function createPathRules({ include, exclude }: Pick<WalkOptions, 'include' | 'exclude'>, glob?: string) {
  const { default: picomatch } = await import('picomatch');
  const anyOf = (globs: readonly string[]) => {
    const each = globs
      .map(toSlashes)
      .map((one) => picomatch(one, { ...globOptions, basename: !one.includes('/'), dot: true }));
    return (inside: string) => each.some((matches) => matches(inside));
  };
  const [isIncluded, isExcluded] = [anyOf(include), anyOf(exclude)];
  const isMatch = glob === undefined ? isIncluded : picomatch(glob, { ...globOptions, dot: false });
  const matchesAll = glob === undefined && include.length === 0;
  const ruleFor = (inside: string): PathRule | undefined => {
    if (isExcluded(inside) || !(matchesAll || isMatch(inside))) return 'glob';
    return systemFilePattern.test(inside) && !isIncluded(inside) ? 'system' : undefined;
  };
  return { isExcluded, ruleFor };
}

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
  #roots: WalkRoot[] = [];

  constructor(options: WalkOptions) {
    this.#options = options;
  }

  /** Descriptions of the skipped entries, one per kind, such as "2 linked directories". */
  get skipped(): string[] {
    return [...this.#counts].map(([kind, count]) => {
      const [one, several, more] = skipKinds[kind];
      return `${count} ${count === 1 ? one : several}${more}`;
    });
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
    const { ruleFor } = await createPathRules(this.#options);
    const real = await realpath(directory);
    const { own, excludedPath } = this.#options;
    return (inside) => {
      const path = join(real, inside);
      return ruleFor(inside) === undefined && path !== excludedPath && !own.includesFile(path);
    };
  }

  /** Yields all files at the paths given to `checkPaths`, which must be called first. */
  async *files(): AsyncGenerator<UploadFile> {
    const { excludedPath, onDuplicate } = this.#options;
    // Dedupe by real path, since several of the given paths might lead to the same file.
    const seen = this.#roots.length > 1 ? new Set<string>() : undefined;
    for (const root of this.#roots)
      for await (const file of 'file' in root ? [root.file] : this.#filesIn(root)) {
        const { realPath = file.path } = file;
        if (realPath === excludedPath) continue;
        if (seen?.has(realPath)) onDuplicate?.(file);
        else yield file;
        seen?.add(realPath);
      }
  }

  async *#filesIn({ directory, typedPath, glob }: DirectoryToWalk): AsyncGenerator<UploadFile> {
    const relativePathOf = (path: string) => toSlashes(relative(directory, path));
    const { isExcluded, ruleFor } = await createPathRules(this.#options, glob);
    const isDeep = glob === undefined || glob.includes('**');
    const real = await realpath(directory);
    for await (const file of this.#walk(directory, real, {
      isOwn: this.#options.own.includesDirectory(real),
      maxDepth: isDeep ? Number.POSITIVE_INFINITY : glob.split('/').length,
      isExcluded: (path) => isExcluded(relativePathOf(path)),
      isSelected: (path) => {
        const rule = ruleFor(relativePathOf(path));
        if (rule === 'system') this.#skip('system');
        return rule === undefined;
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
    const roots: PromiseSettledResult<WalkRoot | undefined>[] = [];
    for (let at = 0; at < paths.length; at += maxConcurrentStats) {
      const some = paths.slice(at, at + maxConcurrentStats);
      roots.push(...(await Promise.allSettled(some.map((path) => this.#resolveRoot(path, mayBeGlob(path))))));
    }
    const errors = roots.flatMap((root) => (root.status === 'rejected' ? [root.reason as Error] : []));
    if (errors.length === 1) throw errors[0];
    const problem = `${errors.length} of ${paths.length} sources cannot be uploaded`;
    const reason = errors.map(({ message }) => message).join('; ');
    if (errors.length > 1) throw usageError(problem, 'check the paths; nothing was sent', reason);
    this.#roots = roots.flatMap((root) => (root.status === 'fulfilled' ? (root.value ?? []) : []));
  }

  /** Returns undefined for a file that is too new. */
  async #resolveRoot(path: string, mayBeGlob: boolean): Promise<WalkRoot | undefined> {
    if (path === '-') return { file: { ...fileAt(path), typedPath: path, stream: {} } };
    let found: BigIntStats;
    try {
      found = await stat(path, { bigint: true });
    } catch (error) {
      const pattern = mayBeGlob ? await parseGlob(path) : undefined;
      if (pattern) return pattern;
      throw unreadableFile(path, error);
    }
    if (found.isDirectory()) return { directory: path, typedPath: path };
    if (!found.isFile()) throw notAFile(path, false);
    if (!this.#isRecent(found)) return { file: await describeFile(path, found, this.#options.own) };
    this.#skipRecent(found);
    return undefined;
  }

  /** Yields the matching files in a directory tree, in order of name. Follows links to files, not to directories. */
  async *#walk(directory: string, real: string, selection: Selection): AsyncGenerator<UploadFile> {
    const { maxDepth, isSelected, isOwn } = selection;
    const { own } = this.#options;
    for (const [index, entry] of (await this.#entriesOf(directory, selection)).entries()) {
      const { name } = entry;
      const path = join(directory, name);
      if (entry.isDirectory()) {
        const below = { ...selection, maxDepth: maxDepth - 1, isOwn: isOwn || own.isFolder(path) };
        if (maxDepth > 1) yield* this.#walk(path, join(real, name), below);
      } else if (isSelected(path)) {
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
    else if (this.#isRecent(found)) this.#skipRecent(found);
    else return describeAt(path, real, found);
    return undefined;
  }

  async #entriesOf(folder: string, { isExcluded, isOwn }: Selection): Promise<Dirent[]> {
    const fail = (path: string, error: CodedError) => {
      if (!isOwn && !isExcluded(path)) this.failures.push({ path, error });
    };
    try {
      const [entries, names] = await Promise.all([
        readdir(folder, { withFileTypes: true }),
        readdir(folder, { encoding: 'buffer' }),
      ]);
      // Node decodes a name that is not UTF-8 lossily, so the file cannot be opened by the decoded name.
      const unreadable = new Set(names.filter((name) => !isUtf8(name)).map(String));
      for (const name of unreadable) fail(join(folder, name), notUtf8());
      return entries.filter(({ name }) => !unreadable.has(name)).sort((a, b) => (a.name < b.name ? -1 : 1));
    } catch (error) {
      const problem = `cannot read the directory ${escapeControls(folder)}`;
      const hint = 'fix its permissions, or exclude it';
      fail(folder, new CodedError(problem, { code: 'unreadable_file', reason: (error as Error).message, hint }));
      return [];
    }
  }

  /** Compares the change time, since a copy can have any modification time. */
  #isRecent({ ctimeMs }: BigIntStats): boolean {
    return this.#options.changedBefore !== undefined && Number(ctimeMs) > this.#options.changedBefore;
  }

  #skipRecent({ size }: BigIntStats): void {
    this.recentSizes.add(Number(size));
    this.#skip('recent');
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

/** Splits a glob into base directory and pattern; undefined if it is not a glob or the directory does not exist. */
async function parseGlob(path: string): Promise<DirectoryToWalk | undefined> {
  const { default: picomatch } = await import('picomatch');
  const { base, glob, isGlob } = picomatch.scan(toSlashes(path));
  if (!isGlob) return undefined;
  const directory = base === '' ? '.' : base;
  const found = await stat(directory).catch(() => undefined);
  return found?.isDirectory() ? { directory, typedPath: path, glob } : undefined;
}

/** Matches files that file managers create, such as thumbnails, view settings and resource forks. */
const systemFilePattern =
  /(^|\/)(\.DS_Store|\._[^/]*|Thumbs\.db|desktop\.ini|\.(Spotlight-V100|Trashes|fseventsd)(\/.*)?)$/i;

const notUtf8 = () =>
  new CodedError('its name is not valid UTF-8', {
    code: 'unreadable_file',
    hint: 'rename it; convmv renames many files at once',
  });
