import { statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Number of times that a directory is listed while files in it are renamed. */
const maxListings = 3;

/** A file of a directory, as its receipt would have it. */
export type FoundFile = { realPath: string; sizeBytes: number; mtimeNs: string };

/**
 * Finds files of a directory that are new, whatever the filters of the upload leave out: each may be one of those that are
 * missing, under another name. Lists the directory again if something was renamed in it meanwhile.
 *
 * @param real real path of the directory
 * @param sizes sizes of the missing files
 * @returns the path of such a file for each size
 */
export async function findNewFiles(
  real: string,
  sizes: ReadonlySet<number>,
  isNew: (file: FoundFile) => Promise<boolean>,
): Promise<Map<number, string>> {
  const found = new Map<number, string>();
  for (let listings = 1; listings <= maxListings; listings++) {
    const times = new Map<string, bigint>();
    for await (const file of filesBelow(real, times))
      if (sizes.has(file.sizeBytes) && !found.has(file.sizeBytes) && (await isNew(file)))
        found.set(file.sizeBytes, file.realPath);
    if ([...times].every(([directory, time]) => statIfExists(directory)?.mtimeNs === time)) break;
  }
  return found;
}

/** Yields the files of a directory tree. Follows links to files, not to directories. @param times gets that of each directory */
async function* filesBelow(directory: string, times: Map<string, bigint>): AsyncGenerator<FoundFile> {
  const { mtimeNs: time } = statIfExists(directory) ?? {};
  if (time === undefined) return;
  times.set(directory, time);
  for (const entry of await readdir(directory, { withFileTypes: true }).catch(ifUnreadable)) {
    const realPath = join(directory, entry.name);
    if (entry.isDirectory()) {
      yield* filesBelow(realPath, times);
      continue;
    }
    const found = statIfExists(realPath);
    if (found?.isFile()) yield { realPath, sizeBytes: Number(found.size), mtimeNs: String(found.mtimeNs) };
  }
}

const statIfExists = (path: string) => {
  try {
    return statSync(path, { bigint: true });
  } catch (error) {
    ifUnreadable(error as NodeJS.ErrnoException);
    return undefined;
  }
};

/** Returns no entries of a directory that is gone, or that only others may read. @throws any other error */
function ifUnreadable(error: NodeJS.ErrnoException): [] {
  if (/^(ENOENT|ENOTDIR|EACCES|EPERM|ELOOP)$/.test(error.code ?? '')) return [];
  throw error;
}
