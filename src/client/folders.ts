import { mkdir, rename, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { exitCodes, MediactlError } from './errors.ts';

/**
 * Makes a folder of this user alone (0700), with those above it; one that is there is fine.
 * `mkdir` with `recursive` never ends where the system says of a folder that is there that it is
 * not, as /proc does: here every folder is tried once.
 *
 * @throws MediactlError `folder` with the system's reason and `hint`, such as `--data DIR`: exit 2, or 1
 *   where another path would not help
 */
export async function makeFolder(path: string, hint?: string): Promise<void> {
  try {
    await make(path);
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    throw new MediactlError(`cannot make the folder ${path}`, {
      code: 'folder',
      exitCode: machineFails.includes(code) ? exitCodes.unclassified : exitCodes.usage,
      reason: message,
      hint,
      underlying: error,
    });
  }
}

/** Of what is kept between runs. @throws MediactlError `folder` */
export const makeStateFolder = (path: string) => makeFolder(path, 'set MEDIACTL_STATE_DIR');

/** Writes what is kept between runs, 0600: whole or not at all, whoever else writes it. */
export async function keepState(path: string, text: string): Promise<void> {
  await makeStateFolder(dirname(path));
  const { randomBytes } = await import('node:crypto');
  const mine = `${path}.${randomBytes(4).toString('hex')}`;
  await writeFile(mine, text, { mode: 0o600 });
  await rename(mine, path);
}

const machineFails = ['ENOSPC', 'EDQUOT', 'EIO', 'EMFILE', 'ENFILE'];

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
