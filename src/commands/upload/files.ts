import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, readdir, realpath, rm, stat } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Context } from '../../context.ts';
import { usageError } from '../../errors.ts';

export type FileToUpload = {
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

/** The files behind the paths, in order; directories are walked with `recursive`. */
export async function filesIn(
  paths: readonly string[],
  { recursive, contentType, include, exclude }: FileOptions,
): Promise<FileToUpload[]> {
  const [{ mime }, { picomatch }] = await Promise.all([
    import('./mime.lazy.ts'),
    import('./picomatch.lazy.ts'),
  ]);
  const anyOf = (globs: readonly string[]) => {
    const each = globs.map((glob) => picomatch(glob, { basename: !glob.includes('/'), dot: true }));
    return (inside: string) => each.some((matches) => matches(inside));
  };
  const isWanted = include.length > 0 ? anyOf(include) : () => true;
  const isUnwanted = anyOf(exclude);
  const files = new Map<string, string>();
  for (const path of paths) {
    if (!recursive || path === '-' || !(await isDirectoryAt(path))) files.set(path, '');
    else
      for (const found of await filesUnder(path)) {
        const inside = relative(path, found).split(sep).join('/');
        if (isWanted(inside) && !isUnwanted(inside))
          files.set(found, inside.split('/').slice(0, -1).join('/'));
      }
  }
  if (files.size === 0) throw usageError('no files in there', 'check the paths');
  return [...files].map(([path, below]) => ({
    path,
    below,
    contentType: contentType ?? mime.getType(path) ?? undefined,
  }));
}

const isDirectoryAt = (path: string) =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false, // said when the file is opened
  );

/** Links to files are followed, links to directories are not: they may lead round in a circle. */
async function filesUnder(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files: string[] = [];
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() || (entry.isSymbolicLink() && (await isFileAt(path)))) files.push(path);
  }
  return files.sort();
}

/** A link that leads nowhere is kept, and said when it is opened. */
const isFileAt = (path: string) =>
  stat(path).then(
    (found) => found.isFile(),
    () => true,
  );

const spoolDirectory = ({ stateDir }: Context) => join(stateDir, 'spool');

/** Whether a file is ours, to be removed once it is uploaded or forgotten. */
export async function isSpooled(context: Context, path: string): Promise<boolean> {
  const directory = await realpath(spoolDirectory(context)).catch(() => undefined);
  return dirname(path) === directory;
}

/** stdin as a file: its length must be known before an upload starts. It stays until uploaded. */
export async function spoolStdin(context: Context): Promise<string> {
  const { terminal, signal } = context;
  if (terminal.stdin.isTTY)
    throw usageError('stdin is a terminal, not a file', 'mediactl upload - --name NAME < FILE');
  const directory = spoolDirectory(context);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const path = join(await realpath(directory), randomUUID());
  try {
    await pipeline(terminal.stdin, createWriteStream(path, { mode: 0o600 }), { signal });
    if ((await stat(path)).size === 0)
      throw usageError('nothing came on stdin', 'check the command before the pipe');
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
  return path;
}
