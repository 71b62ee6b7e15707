import { isUtf8 } from 'node:buffer';
import { type BigIntStats, type Dirent, statSync } from 'node:fs';
import { open, readdir, realpath, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { escapeControls } from '../../../contract/sanitize.ts';
import { MediactlError, usageError } from '../../errors.ts';
import { notAFile, realPathOf, unreadableFile } from './source.ts';
import type { UploadCandidate } from './upload-candidate.ts';

/** Options for a directory walk. */
export type WalkOptions = {
  recursive: boolean;
  /** Globs that are matched against the relative path, or against the file name if the glob has no slash. */
  include: readonly string[];
  exclude: readonly string[];
  /** Real path of a file to skip, such as an output file that is being written. */
  excludedPath?: string | undefined;
  /** Called with each file that was already found, possibly under another path. */
  onDuplicate?: (file: UploadCandidate) => void;
};

type WalkFailure = { path: string; error: MediactlError };
type Matches = (inside: string) => boolean;

/** Maps each kind of skipped entry to its singular, its plural, and a note for the user. */
const skipKinds = {
  system: ['file of a file manager', 'files of file managers', ", such as .DS_Store; --include '*' takes all files"],
  link: ['linked directory', 'linked directories', ', which may form a loop'],
  special: ['pipe, socket or device', 'pipes, sockets and devices', ''],
} as const;

/** Duration above which a `stat` call counts as slow. A local disk is faster unless it is busy. */
const minSlowStatMs = 1;
const maxSlowStats = 20;

/** Number of files whose `stat` runs concurrently. */
const maxConcurrentStats = 64;

/**
 * Streams the files at the given paths as they are found, without collecting them in memory. Directories are walked
 * only if `recursive` is set. A path that does not exist might be a glob that no shell has expanded.
 */
export class FileWalker {
  readonly #options: WalkOptions;
  readonly #counts = new Map<keyof typeof skipKinds, number>();
  readonly #failures: WalkFailure[] = [];
  #roots: WalkRoot[] = [];
  #slowStats = 0;
  #isSlowFileSystem = false;

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

  /** Directories that cannot be read, and files whose names are not UTF-8. */
  get failures(): readonly WalkFailure[] {
    return this.#failures;
  }

  /** Yields all files at the paths given to `checkPaths`, which must be called first. */
  async *files(): AsyncGenerator<UploadCandidate> {
    const { include, exclude } = this.#options;
    const { default: picomatch } = await import('picomatch');
    const anyOf = (globs: readonly string[]): Matches => {
      const each = globs.map((glob) => picomatch(glob, { basename: !glob.includes('/'), dot: true }));
      return (inside) => each.some((matches) => matches(inside));
    };
    const isIncluded = anyOf(include);
    const isPassed = (inside: string) => include.length === 0 || isIncluded(inside);
    const isExcluded = anyOf(exclude);
    // Dedupe by real path, since several of the given paths might lead to the same file.
    const seen = this.#roots.length > 1 ? new Set<string>() : undefined;
    const isNew = (file: UploadCandidate) => {
      const { sourceId = file.path } = file;
      if (sourceId === this.#options.excludedPath) return false;
      if (seen?.has(sourceId)) {
        this.#options.onDuplicate?.(file);
        return false;
      }
      seen?.add(sourceId);
      return true;
    };
    for (const place of this.#roots) {
      if ('file' in place) {
        if (isNew(place.file)) yield place.file;
        continue;
      }
      const relativePathOf = (found: string) => relative(place.directory, found).split(sep).join('/');
      const isMatch: Matches = place.glob === undefined ? isPassed : picomatch(place.glob, { dot: false });
      const maxDepth =
        place.glob === undefined || place.glob.includes('**') ? Number.POSITIVE_INFINITY : place.glob.split('/').length;
      for await (const file of this.#walkDirectory(place.directory, maxDepth, (found) => {
        const inside = relativePathOf(found);
        if (isExcluded(inside) || !isMatch(inside)) return false;
        if (!isSystemFile(inside) || isIncluded(inside)) return true;
        this.#skip('system');
        return false;
      })) {
        if (place.glob === undefined) file.relativeDir = relativePathOf(file.path).split('/').slice(0, -1).join('/');
        file.typedPath = place.named;
        if (isNew(file)) yield file;
      }
      this.#dropFailures(({ path }) => isExcluded(relativePathOf(path)));
    }
  }

  /**
   * Checks that every given path can be uploaded, before anything is sent.
   *
   * @param mayBeGlob returns true if a path that does not exist might be a glob that no shell has expanded
   * @throws MediactlError (exit 2) that names each path that cannot be uploaded
   */
  async checkPaths(paths: readonly string[], mayBeGlob: (path: string) => boolean = () => false) {
    const places: WalkRoot[] = [];
    const failed: WalkFailure[] = [];
    for (let at = 0; at < paths.length; at += maxConcurrentStats)
      await Promise.all(
        paths.slice(at, at + maxConcurrentStats).map(async (path, n) => {
          try {
            places[at + n] = await this.#resolveRoot(path, mayBeGlob(path));
          } catch (error) {
            failed[at + n] = { path, error: error as MediactlError };
          }
        }),
      );
    const failures = failed.filter(Boolean); // in the order of the arguments
    const [first] = failures;
    if (first && failures.length === 1) throw first.error;
    if (first)
      throw usageError(
        `${failures.length} of ${paths.length} sources cannot be uploaded`,
        'check the paths; nothing was sent',
        failures.map(({ error }) => error.message).join('; '),
      );
    this.#roots = places;
  }

  async #resolveRoot(path: string, mayBeGlob: boolean): Promise<WalkRoot> {
    if (path === '-') return { file: { path, typedPath: path, relativeDir: '' } };
    let found: BigIntStats;
    try {
      found = await stat(path, { bigint: true });
    } catch (error) {
      const pattern = mayBeGlob ? await parseGlob(path) : undefined;
      if (pattern) return pattern;
      throw unreadableFile(path, error);
    }
    if (found.isDirectory() && this.#options.recursive) return { directory: path, named: path };
    if (!found.isFile()) throw notAFile(path, found.isDirectory());
    await open(path, 'r').then(
      (handle) => handle.close(),
      (error) => {
        throw unreadableFile(path, error);
      },
    );
    return { file: { ...toCandidate(path, await realPathOf(path), found), typedPath: path } };
  }

  /** Yields the matching files in a directory tree, in order of name. Follows links to files, not to directories. */
  async *#walkDirectory(
    directory: string,
    maxDepth: number,
    isMatch: Matches,
    realDirectory?: string,
  ): AsyncGenerator<UploadCandidate> {
    const realHere = realDirectory ?? (await realpath(directory));
    let batch: Dirent[] = [];
    const statBatch = async () => {
      const some = batch;
      batch = [];
      const files = await Promise.all(
        some.map((entry) => this.#fileAt(entry, join(directory, entry.name), join(realHere, entry.name))),
      );
      return files.filter((file) => file !== undefined);
    };
    for (const entry of await this.#entriesOf(directory)) {
      const path = join(directory, entry.name);
      if (!entry.isDirectory()) {
        if (isMatch(path)) batch.push(entry);
        if (batch.length >= maxConcurrentStats) yield* await statBatch();
      } else if (maxDepth > 1) {
        yield* await statBatch();
        yield* this.#walkDirectory(path, maxDepth - 1, isMatch, join(realHere, entry.name));
      }
    }
    yield* await statBatch();
  }

  async #fileAt(entry: Dirent, path: string, real: string): Promise<UploadCandidate | undefined> {
    if (!entry.isFile() && !entry.isSymbolicLink()) {
      this.#skip('special');
      return undefined;
    }
    const found = await this.#stat(path);
    // A dangling link, or a file deleted since the listing, is reported when it is opened.
    if (!found) return { path, relativeDir: '' };
    if (found.isFile()) return toCandidate(path, real, found);
    this.#skip(found.isDirectory() ? 'link' : 'special');
    return undefined;
  }

  /**
   * Runs `stat` synchronously, which is five times faster than the thread pool on a local file system. After too
   * many slow calls it switches to asynchronous calls, because a network file system must not block the event loop.
   * Returns undefined on failure.
   */
  async #stat(path: string): Promise<BigIntStats | undefined> {
    if (this.#isSlowFileSystem) return stat(path, { bigint: true }).catch(() => undefined);
    const startedAt = performance.now();
    const found = statSyncIfExists(path);
    this.#slowStats += performance.now() - startedAt > minSlowStatMs ? 1 : 0;
    this.#isSlowFileSystem = this.#slowStats >= maxSlowStats;
    return found;
  }

  async #entriesOf(folder: string): Promise<Dirent[]> {
    try {
      const [entries, names] = await Promise.all([
        readdir(folder, { withFileTypes: true }),
        readdir(folder, { encoding: 'buffer' }),
      ]);
      // Node decodes a name that is not UTF-8 lossily, so the file cannot be opened by the decoded name.
      const unreadableNames = names.filter((name) => !isUtf8(name)).map(String);
      for (const name of unreadableNames) this.#failures.push({ path: join(folder, name), error: notUtf8() });
      const readable =
        unreadableNames.length === 0 ? entries : entries.filter(({ name }) => !unreadableNames.includes(name));
      return readable.sort((a, b) => (a.name < b.name ? -1 : 1));
    } catch (error) {
      this.#failures.push({ path: folder, error: unreadableDirectory(folder, error as Error) });
      return [];
    }
  }

  #skip(kind: keyof typeof skipKinds): void {
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1);
  }

  #dropFailures(isMeant: (failure: WalkFailure) => boolean): void {
    for (const failure of this.#failures.filter(isMeant)) this.#failures.splice(this.#failures.indexOf(failure), 1);
  }
}

type WalkRoot = { file: UploadCandidate } | { directory: string; named: string; glob?: string };

function toCandidate(path: string, sourceId: string, found: BigIntStats): UploadCandidate {
  return {
    path,
    // Keep a single string if both are equal, to save memory with 100,000 files.
    sourceId: sourceId === path ? path : sourceId,
    sizeBytes: Number(found.size),
    mtimeNs: String(found.mtimeNs),
    relativeDir: '',
  };
}

function statSyncIfExists(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false });
  } catch {
    return undefined; // reported when the file is opened
  }
}

/** Splits a glob into base directory and pattern; undefined if it is not a glob or the directory does not exist. */
async function parseGlob(path: string): Promise<WalkRoot | undefined> {
  const { default: picomatch } = await import('picomatch');
  const { base, glob, isGlob } = picomatch.scan(path);
  if (!isGlob) return undefined;
  const directory = base === '' ? '.' : base;
  const isThere = await stat(directory).then(
    (found) => found.isDirectory(),
    () => false,
  );
  return isThere ? { directory, named: path, glob } : undefined;
}

/** Matches files that file managers create, such as thumbnails, view settings and resource forks. */
const systemFilePattern =
  /(^|\/)(\.DS_Store|\._[^/]*|Thumbs\.db|desktop\.ini|\.(Spotlight-V100|Trashes|fseventsd)(\/.*)?)$/i;
const isSystemFile = (inside: string) => systemFilePattern.test(inside);

const unreadableDirectory = (folder: string, { message }: Error) =>
  new MediactlError(`cannot read the directory ${escapeControls(folder)}`, {
    code: 'unreadable_directory',
    reason: message,
  });

const notUtf8 = () =>
  new MediactlError('its name is not UTF-8', {
    code: 'bad_file_name',
  });
