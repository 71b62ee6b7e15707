import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { usageError } from './errors.ts';

/**
 * Makes a folder of this user alone (0700), with those above it; one that is there is fine.
 * `mkdir` with `recursive` never ends where the system says of a folder that is there that it is
 * not, as /proc does: here every folder is tried once.
 *
 * @throws MediactlError exit 2, with the system's reason and `hint`, such as `--data DIR`
 */
export async function makeFolder(path: string, hint?: string): Promise<void> {
  try {
    await make(path);
  } catch (error) {
    throw usageError(`cannot make the folder ${path}`, hint, (error as Error).message);
  }
}

async function make(path: string, isLastTry = false): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    if (await isFolder(path)) return;
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || isLastTry) throw error;
    const above = dirname(path);
    if (!(await isFolder(above))) await make(above); // else others made it meanwhile
    await make(path, true);
  }
}

const isFolder = (path: string) =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
