import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, readdir, realpath, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Context } from '../../context.ts';
import { usageError } from '../../errors.ts';

export type FileToUpload = { path: string; contentType?: string | undefined };

/** The files behind the paths, in order; directories are walked with `recursive`. */
export async function filesIn(
  paths: readonly string[],
  { recursive, contentType }: { recursive: boolean; contentType: string | undefined },
): Promise<FileToUpload[]> {
  const files: string[] = [];
  for (const path of paths) {
    const isDirectory = recursive && path !== '-' && (await isDirectoryAt(path));
    files.push(...(isDirectory ? await filesUnder(path) : [path]));
  }
  if (files.length === 0) throw usageError('no files in there', 'check the paths');
  const { mime } = await import('./mime.lazy.ts');
  return [...new Set(files)].map((path) => ({
    path,
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
