import { mkdir, rename, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { exitCodes, MediactlError } from './errors.ts';

/**
 * Creates a folder with mode 0700, and its missing parents. Does nothing if it exists. `mkdir` with `recursive`
 * never returns on file systems such as /proc, which report ENOENT for a folder that exists, so each level is
 * tried only once.
 *
 * @throws MediactlError `folder` with the reason given by the system and `hint`, such as `--data DIR`. The exit
 *   code is 2, or 1 if another path would not help.
 */
export async function makeFolder(path: string, hint?: string): Promise<void> {
  try {
    await createRecursively(path);
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    throw new MediactlError(`cannot make the folder ${path}`, {
      code: 'folder',
      exitCode: machineErrorCodes.includes(code) ? exitCodes.unclassified : exitCodes.usage,
      reason: message,
      hint,
      underlying: error,
    });
  }
}

/** Creates a folder for state. @throws MediactlError `folder` */
export const makeStateFolder = (path: string) => makeFolder(path, 'set MEDIACTL_STATE_DIR');

/** Writes a state file with mode 0600 by atomic rename, so other processes never see a partial file. */
export async function writeStateFile(path: string, text: string): Promise<void> {
  await makeStateFolder(dirname(path));
  const { randomBytes } = await import('node:crypto');
  const temporaryPath = `${path}.${randomBytes(4).toString('hex')}`;
  await writeFile(temporaryPath, text, { mode: 0o600 });
  await rename(temporaryPath, path);
}

const machineErrorCodes = ['ENOSPC', 'EDQUOT', 'EIO', 'EMFILE', 'ENFILE'];

async function createRecursively(path: string, isLastTry = false): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    if (await isFolder(path)) return;
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || isLastTry) throw error;
    const above = dirname(path);
    if (!(await isFolder(above))) await createRecursively(above); // otherwise another process created it
    await createRecursively(path, true);
  }
}

const isFolder = (path: string) =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
