import { isUtf8 } from 'node:buffer';
import type { Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { exitCodes, MediactlError, usageError } from '../errors.ts';
import { printable } from '../terminal/printable.ts';

type FileToUpload = {
  path: string;
  contentType?: string | undefined;
  /** Of a file found in a directory: the folders between the two, such as `day 1/cam a`; else empty. */
  below: string;
};

export type FileOptions = {
  recursive: boolean;
  contentType: string | undefined;
  /** Globs over the path below the directory; one without a slash is of the name alone. */
  include: readonly string[];
  exclude: readonly string[];
};

/** The files that were meant, what was passed over on the way, and what cannot be read. */
export type FilesFound = {
  files: FileToUpload[];
  /** In words, a kind each: "2 linked directories". */
  passedOver: string[];
  failures: { path: string; error: MediactlError }[];
};

/** The files behind the paths, in order; directories are walked with `recursive`. */
export async function filesIn(
  paths: readonly string[],
  { recursive, contentType, include, exclude }: FileOptions,
): Promise<FilesFound> {
  const [{ default: mime }, { default: picomatch }] = await Promise.all([
    import('mime/lite'),
    import('picomatch'),
  ]);
  const anyOf = (globs: readonly string[]) => {
    const each = globs.map((glob) => picomatch(glob, { basename: !glob.includes('/'), dot: true }));
    return (inside: string) => each.some((matches) => matches(inside));
  };
  const isIncluded = anyOf(include);
  const isWanted = (inside: string) => include.length === 0 || isIncluded(inside);
  const isUnwanted = anyOf(exclude);
  const files = new Map<string, string>();
  const walk = new Walk();
  const failures: FilesFound['failures'] = [];
  for (const path of paths) {
    if (!recursive || path === '-' || !(await isDirectoryAt(path))) {
      files.set(path, '');
      continue;
    }
    const insideOf = (found: string) => relative(path, found).split(sep).join('/');
    const found = await walk.under(path);
    for (const each of found.files) {
      const inside = insideOf(each);
      if (!isWanted(inside) || isUnwanted(inside)) continue;
      if (isOfSystem(inside) && !isIncluded(inside)) walk.passOver('system');
      else files.set(each, inside.split('/').slice(0, -1).join('/'));
    }
    failures.push(...found.failures.filter((failure) => !isUnwanted(insideOf(failure.path))));
  }
  if (files.size === 0 && failures.length === 0)
    throw usageError(
      'no files in there',
      'check the paths',
      walk.passedOver.join(', ') || undefined,
    );
  return {
    files: [...files].map(([path, below]) => ({
      path,
      below,
      contentType: contentType ?? mime.getType(path) ?? undefined,
    })),
    passedOver: walk.passedOver,
    failures,
  };
}

const isDirectoryAt = (path: string) =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false, // said when the file is opened
  );

/** What file managers leave behind: thumbnails, views, and the resource forks of files. */
const ofSystem =
  /(^|\/)(\.DS_Store|\._[^/]*|Thumbs\.db|desktop\.ini|\.(Spotlight-V100|Trashes|fseventsd)(\/.*)?)$/i;
const isOfSystem = (inside: string) => ofSystem.test(inside);

const kinds = {
  system: 'files of file managers, such as .DS_Store; --include takes them',
  link: 'linked directories, which may lead round in a circle',
  special: 'pipes, sockets and devices',
};

/** A walk through directories that tells what it leaves out. */
class Walk {
  #failures: FilesFound['failures'] = [];
  readonly #counts = new Map<keyof typeof kinds, number>();

  get passedOver(): string[] {
    return [...this.#counts].map(([kind, count]) => `${count} ${kinds[kind]}`);
  }

  /** Links to files are followed, links to directories are not. */
  async under(directory: string): Promise<Pick<FilesFound, 'failures'> & { files: string[] }> {
    this.#failures = [];
    const files: string[] = [];
    const waiting = [directory];
    for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop())
      for (const entry of await this.#entriesOf(folder)) {
        const path = join(folder, entry.name);
        if (entry.isDirectory()) waiting.push(path);
        else if (entry.isFile() || (entry.isSymbolicLink() && (await this.#isFileAt(path))))
          files.push(path);
        else if (!entry.isSymbolicLink()) this.passOver('special');
      }
    return { files: files.sort(), failures: this.#failures };
  }

  async #entriesOf(folder: string): Promise<Dirent[]> {
    try {
      const [entries, names] = await Promise.all([
        readdir(folder, { withFileTypes: true }),
        readdir(folder, { encoding: 'buffer' }),
      ]);
      // Node's own text of such a name leads to no file.
      const unreadableNames = names.filter((name) => !isUtf8(name)).map(String);
      for (const name of unreadableNames) this.#fail(join(folder, name), notUtf8());
      return entries.filter(({ name }) => !unreadableNames.includes(name));
    } catch (error) {
      this.#fail(folder, unreadable(folder, error as Error));
      return [];
    }
  }

  /** A link that leads nowhere is kept, and said when it is opened. */
  async #isFileAt(path: string): Promise<boolean> {
    const found = await stat(path).catch(() => undefined);
    if (found?.isDirectory()) this.passOver('link');
    else if (found && !found.isFile()) this.passOver('special');
    return found === undefined || found.isFile();
  }

  passOver(kind: keyof typeof kinds): void {
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1);
  }

  #fail(path: string, error: MediactlError): void {
    this.#failures.push({ path, error });
  }
}

const unreadable = (folder: string, { message }: Error) =>
  new MediactlError(`cannot read the directory ${printable(folder)}`, {
    code: 'unreadable_directory',
    exitCode: exitCodes.usage,
    reason: message,
    hint: 'mend its permissions, or leave it out with --exclude',
  });

const notUtf8 = () =>
  new MediactlError('its name is no UTF-8', {
    code: 'bad_file_name',
    exitCode: exitCodes.usage,
    hint: 'rename it; convmv does that for many',
  });
