import { isUtf8 } from 'node:buffer';
import { type BigIntStats, type Dirent, statSync } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { compileGlobs } from '../../../shared/glob.ts';
import { isWindows } from '../../../shared/platform.ts';
import { escapeControls } from '../../../shared/sanitize.ts';
import { CodedError, usageError } from '../../errors.ts';
import { expandBraces, isGlob, type SplitGlob, splitGlob } from '../../glob.ts';
import { findSpelling, isDirectory as isExistingDirectory, toSlashes } from '../../local-path.ts';
import { candidateOf, type FileChooser } from './file-chooser.ts';
import {
  attributesOf,
  describeAt,
  describeFile,
  fileAt,
  notAFile,
  type UploadFile,
  unreadableFile,
} from './upload-file.ts';

type DirectoryToWalk = { directory: string; typedPath: string; glob?: SplitGlob };
type WalkRoot = { file: UploadFile; typedPath: string; found?: BigIntStats } | DirectoryToWalk;

type Walk = DirectoryToWalk & {
  /** Returns true for the path of a file that the glob matches. */
  isMatch: (inside: string) => boolean;
};

const maxConcurrentStats = 64;
/** Number of files of a directory after which the walk lets other work run. */
const filesPerTurn = 64;

/**
 * Streams the files at the given paths as they are found, without collecting them in memory. A path that does not
 * exist might be a glob that no shell has expanded.
 */
export class FileWalker {
  readonly #chooser: FileChooser;
  #roots: WalkRoot[] = [];

  constructor(chooser: FileChooser) {
    this.#chooser = chooser;
  }

  /** True if any of the paths given to `checkPaths` is a directory, not a glob. */
  get hasDirectories(): boolean {
    return this.#roots.some((root) => 'directory' in root && root.glob === undefined);
  }

  /** Yields the chosen files at the paths given to `checkPaths`, which must be called first. */
  async *files(): AsyncGenerator<UploadFile> {
    for (const root of this.#roots)
      if ('directory' in root) yield* this.#filesIn(root);
      else if (this.#chooser.takes(candidateOf(root.file, root.found))) yield root.file;
  }

  async *#filesIn(root: DirectoryToWalk): AsyncGenerator<UploadFile> {
    const { directory, typedPath, glob } = root;
    const real = await realpath(directory);
    const isOwn = () => this.#chooser.own.includesDirectory(real);
    const named = { path: typedPath, source: typedPath, isDirectory: true, relativeDir: '', filename: basename(real) };
    if (!this.#chooser.takes({ ...named, isOwn })) return;
    const isMatch = glob ? compileGlobs([glob.rest], { ignoreCase: isWindows }) : () => true;
    yield* this.#walk(directory, real, { ...root, isMatch }, glob?.maxDepth ?? Number.POSITIVE_INFINITY);
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

  /** Returns several for a glob with alternatives. */
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
    return [{ file: await describeFile(path, found, this.#chooser.own), typedPath: path, found }];
  }

  /** Yields the chosen files in a directory tree, in order of name. Follows links to files, not to directories. */
  async *#walk(directory: string, real: string, walk: Walk, maxDepth: number): AsyncGenerator<UploadFile> {
    const { own } = this.#chooser;
    const source = walk.typedPath;
    const insideDirectory = toSlashes(relative(walk.directory, directory));
    const relativeDir = walk.glob === undefined ? insideDirectory : '';
    const { entries, unreadable } = await this.#entriesOf(directory, source);
    const names = new Set(entries.map(({ name }) => name));
    for (const [index, entry] of entries.entries()) {
      const { name: filename } = entry;
      const path = join(directory, filename);
      const inside = insideDirectory === '' ? filename : `${insideDirectory}/${filename}`;
      const isDirectory = entry.isDirectory();
      if (isDirectory ? maxDepth <= 1 : !walk.isMatch(inside)) continue;
      const realPath = join(real, filename);
      let found: BigIntStats | undefined;
      const isTaken = this.#chooser.takes({
        ...{ path, source, inside, isDirectory, realPath, relativeDir, filename },
        isBeside: (name) => names.has(name),
        isOwn: () =>
          isDirectory ? own.isFolder(path) : entry.isSymbolicLink() ? own.includes(path) : own.isFile(realPath),
        attributes: () => {
          found = statIfReadable(path);
          return found && attributesOf(found);
        },
      });
      if (isTaken && unreadable.has(filename)) this.#chooser.fail(source, path, notUtf8());
      else if (isTaken && isDirectory) yield* this.#walk(path, realPath, walk, maxDepth - 1);
      else if (isTaken) {
        // A dangling link, or a file deleted since the listing, is reported when it is opened.
        const file = found ? describeAt(path, realPath, found) : fileAt(path);
        yield Object.assign(file, { relativeDir, typedPath: source });
      }
      if (index % filesPerTurn === 0) await nextTurn();
    }
  }

  /** Lists a directory in order of name. `unreadable` are the names that are not UTF-8. */
  async #entriesOf(folder: string, source: string): Promise<{ entries: Dirent[]; unreadable: ReadonlySet<string> }> {
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
      this.#chooser.fail(source, folder, new CodedError(problem, { subcode: 'unreadable_file', reason, hint }));
      return { entries: [], unreadable: new Set() };
    }
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
    const directory = await findSpelling(glob.base === '' ? '.' : glob.base);
    if (directory !== undefined && (await isExistingDirectory(directory)))
      roots.push({ directory, typedPath: path, glob });
  }
  return roots;
}

const notUtf8 = () =>
  new CodedError('its name is not valid UTF-8', {
    subcode: 'unreadable_file',
    hint: 'rename it; convmv renames many files at once',
  });
