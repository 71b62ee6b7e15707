import { readdir, realpath, stat } from 'node:fs/promises';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { CodedError, usageError } from '../client/errors.ts';
import type { OwnFiles } from '../client/own-files.ts';
import { isBelow } from '../client/upload/decide/missing-files.ts';
import { FileSource, type UploadSource } from '../client/upload/sources/source.ts';
import { parseSourceUrl } from '../client/upload/sources/source-url.ts';
import { isHttpUrl } from '../client/upload/sources/upload-file.ts';
import { formatLocation, type TaskSource, type UploadTask } from './task.ts';

/** Directory from which files can be read, with an optional name that is the same on every machine. */
type ReadableDirectory = { name?: string; path: string };
/** URL prefix under which files can be read, such as `https://bucket.example.com/rushes/`. */
type UrlRoot = { origin: string; path: string };

export type OpenUrl = (address: string, mayFollow: (target: URL) => boolean) => Promise<UploadSource>;

/** Minimum number of files by which to judge a root, since a few files might simply have been deleted. */
const minSample = 3;
const maxSample = 20;

/** Accepted forms of a root, for messages. */
const rootForms = 'a root is DIRECTORY, NAME=DIRECTORY or https://HOST/PATH/';

/**
 * Allowlist of the directories and URLs from which a machine is allowed to read. Anyone with access to the store
 * can queue any path or URL, so nothing outside the allowlist is opened or requested.
 */
export class Roots {
  readonly #directories: ReadableDirectory[] = [];
  readonly #urls: UrlRoot[] = [];
  readonly #owner: string;

  private constructor(owner: string) {
    this.#owner = owner;
  }

  /** Parses the values of `--root`. @throws CodedError (exit 2) for a missing directory or a name given twice */
  static async open(typed: readonly string[], cwd: string, owner = ''): Promise<Roots> {
    const roots = new Roots(owner);
    for (const text of typed) {
      if (isHttpUrl(text)) {
        const { url } = parseSourceUrl(text);
        roots.#urls.push({ origin: url.origin, path: url.pathname.replace(/\/?$/, '/') });
        continue;
      }
      const [, name, named] = /^([A-Za-z][\w-]*)=(.+)$/.exec(text) ?? [];
      const path = await realpath(resolve(cwd, named ?? text)).catch(() => undefined);
      if (path === undefined || !(await stat(path)).isDirectory())
        throw usageError(`directory ${named ?? text} does not exist`, rootForms);
      if (name !== undefined && roots.#directories.some((each) => each.name === name))
        throw usageError(`root ${name} is given twice`, rootForms);
      roots.#directories.push({ path, ...(name !== undefined && { name }) });
    }
    return roots;
  }

  /** Names of the directories that have one. */
  get names(): string[] {
    return this.#directories.flatMap(({ name }) => name ?? []);
  }

  /** Comma-separated list of all roots, for error messages. */
  get label(): string {
    return [
      ...this.#directories.map(({ name, path }) => (name ? `${name}=${path}` : path)),
      ...this.#urls.map(({ origin, path }) => origin + path),
    ].join(', ');
  }

  /** Returns a file's path relative to the innermost named root, for other machines; else its absolute path. */
  toTaskSource(path: string): TaskSource {
    const [innermost] = this.#directories
      .filter((each) => each.name !== undefined && isBelow(path, each.path))
      .sort((one, other) => other.path.length - one.path.length);
    if (innermost?.name === undefined) return { path };
    const parts = relative(innermost.path, path).split(sep);
    return { root: innermost.name, path: parts.join('/') };
  }

  /**
   * Opens a queued file.
   *
   * @param openAddress opens an allowed URL; follows a redirect only if `mayFollow` allows its target
   * @param own files of mediactl itself, which are not opened
   * @throws CodedError `outside_roots` (exit 2) if the file is not below a root; `root_unusable` (exit 2) if the
   *   disk is not mounted; as `FileSource.open`
   */
  async open(source: TaskSource, openAddress: OpenUrl, own: OwnFiles): Promise<UploadSource> {
    if (source.root === undefined && isHttpUrl(source.path)) {
      const { url, path } = parseSourceUrl(source.path);
      if (!this.#isAllowed(url)) throw this.#outsideRootsError(path);
      return openAddress(source.path, (target) => this.#isAllowed(target));
    }
    const found = this.#findRoot(source);
    if (!found) throw this.#outsideRootsError(formatLocation(source));
    const { root, place } = found;
    const real = await realpath(place).catch(() => undefined);
    if (real === undefined) {
      await assertNotEmpty(root);
      return FileSource.open(place, own); // throws the specific error
    }
    if (!isBelow(real, root.path)) throw this.#outsideRootsError(place);
    return FileSource.open(real, own, place);
  }

  /** @throws CodedError `outside_roots` (exit 2) if a file is not below a root once links are resolved */
  async assertContains(path: string): Promise<void> {
    const real = await realpath(path).catch(() => undefined); // reported when it is opened
    if (real === undefined || this.#directories.some((root) => isBelow(real, root.path))) return;
    throw new CodedError(`${path} is outside of the roots`, {
      code: 'outside_roots',
      reason: `it is a link to ${real}`,
      hint: 'add another root, or give none',
    });
  }

  /**
   * Checks a sample of the queued files, which should exist in the directories with the queued size.
   *
   * @throws CodedError `root_unusable` (exit 2) if none exists and the directory is empty, or if less than half of the
   *   sample exists
   */
  async assertFilesExist(tasks: readonly UploadTask[]): Promise<void> {
    for (const root of this.#directories) {
      const sample = tasks.filter(({ source }) => this.#findRoot(source)?.root === root);
      const looks = sample.slice(0, maxSample).map(({ source, sizeBytes }) =>
        stat(resolve(root.path, source.path)).then(
          ({ size }) => size === sizeBytes,
          () => false,
        ),
      );
      const found = (await Promise.all(looks)).filter(Boolean).length;
      if (looks.length > 0 && found === 0) await assertNotEmpty(root);
      if (looks.length < minSample || found >= looks.length / 2) continue;
      throw new CodedError(`${root.path} contains only ${found} of ${looks.length} queued files`, {
        subcode: 'root_mismatch',
        reason: 'compared by path and size: its disk may not be mounted, or it is another directory or a copy',
      });
    }
  }

  /** Returns true if a URL is below an allowed prefix. Rejects escaped separators, which servers might decode (path traversal). */
  #isAllowed(url: URL): boolean {
    return this.#urls.some(
      (each) => each.origin === url.origin && url.pathname.startsWith(each.path) && !/%2f|%5c/i.test(url.pathname),
    );
  }

  #findRoot({ root: name, path }: TaskSource): { root: ReadableDirectory; place: string } | undefined {
    if (name === undefined && !isAbsolute(path)) return undefined;
    return [...this.#directories]
      .sort((one, other) => other.path.length - one.path.length)
      .filter((each) => name === undefined || each.name === name)
      .map((root) => ({ root, place: resolve(root.path, path) }))
      .find(({ root, place }) => isBelow(place, root.path));
  }

  #outsideRootsError(path: string): CodedError {
    return new CodedError(`${path} is outside the roots of ${this.#owner}`, {
      code: 'outside_roots',
      reason: `its roots are ${this.label || 'empty'}`,
      retryable: true, // another worker might be able to read it
    });
  }
}

/** @throws CodedError `root_unusable` (exit 2) if a directory is empty or missing, as when its disk is not mounted */
async function assertNotEmpty({ path }: ReadableDirectory): Promise<void> {
  const names = await readdir(path).catch(() => undefined);
  if (names && names.length > 0) return;
  throw new CodedError(`${path} ${names ? 'is empty' : 'does not exist'}`, {
    code: 'root_unusable',
    reason: 'the queue has files from there, so its disk may not be mounted',
  });
}
