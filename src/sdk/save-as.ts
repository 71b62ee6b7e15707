import { randomUUID } from 'node:crypto';
import { type FileHandle, link, lstat, open, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CodedError } from '../client/errors.ts';
import { replaceFile, syncFolder } from '../client/state-files.ts';

/**
 * Writes a file with mode 0600 under a temporary name beside `path`, and then gives it its name, so that a crash leaves
 * no partial file at `path`.
 *
 * @throws CodedError `already_exists` if there is a file at `path` and `overwrite` is false; `write_failed`
 */
export async function saveAs<T>(path: string, overwrite: boolean, write: (file: FileHandle) => Promise<T>): Promise<T> {
  if (!overwrite && (await lstat(path).catch(() => undefined))) throw alreadyExists(path);
  const part = join(dirname(path), `${randomUUID()}.part`);
  try {
    const file = await open(part, 'wx', 0o600);
    let result: T;
    try {
      result = await write(file);
      await file.sync();
    } finally {
      await file.close();
    }
    if (overwrite) await replaceFile(part, path);
    else await link(part, path); // fails if the path exists
    await syncFolder(dirname(path));
    return result;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw alreadyExists(path);
    if (error instanceof CodedError || code === undefined) throw error;
    throw new CodedError(`cannot write ${path}`, { code: 'write_failed', reason: message, underlying: error });
  } finally {
    await rm(part, { force: true });
  }
}

const alreadyExists = (path: string) => new CodedError(`${path} already exists`, { code: 'already_exists' });
