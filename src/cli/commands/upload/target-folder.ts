import { stat } from 'node:fs/promises';
import { basename, dirname, normalize } from 'node:path/posix';
import { asCodedError, usageError } from '../../../client/errors.ts';
import { isGlob } from '../../../client/glob.ts';
import { isMarkedFolder, isRootPath, looksLikeFile } from '../../../client/library/library-paths.ts';
import { quoteForShell } from '../../../shared/sanitize.ts';
import type { Context } from '../../context.ts';
import { fetchFolderTree } from '../../library/folders.ts';

/**
 * Separates the library folder, if the last argument is one, from the local paths before it. An absolute local path
 * looks the same. What exists locally is local; otherwise the argument is a folder if it exists in the library, or if
 * its local parent directory does not exist or is `/`. A path that leads to `/` itself is the top level.
 *
 * @param canBeFolder false for the only argument, which is local unless it could be both
 * @throws CodedError `usage` (exit 2) if the argument could be a mistyped local path, or if --folder is given too
 */
export async function splitTargetFolder(
  context: Context,
  args: readonly string[],
  flag: string | undefined,
  canBeFolder: boolean,
): Promise<{ paths: readonly string[]; folder: string | undefined }> {
  const typed = args.at(-1) ?? '';
  const last = typed.startsWith('/') ? normalize(typed) : typed;
  const isFolder = await isFolderArgument(context, last, args.slice(0, -1));
  if (!isFolder || !canBeFolder) return { paths: args, folder: undefined };
  if (flag !== undefined)
    throw usageError(`${last} and --folder cannot be used together`, 'name one folder', `--folder is ${flag}`);
  return { paths: args.slice(0, -1), folder: last };
}

async function isFolderArgument(context: Context, path: string, sources: readonly string[]): Promise<boolean> {
  if (isMarkedFolder(path) || isRootPath(path)) return true;
  const isInLibrary = async () => (await fetchFolderTree(context)).tree.findByPath(path).length > 0;
  const local = await statLocally(path);
  if (local === 'directory' && (await isInLibrary().catch(falseIfForbidden)))
    throw usageError(
      `${path} is both a local directory and a folder in the library`,
      `folder:${path} for the folder, or -r for the directory`,
    );
  if (local) return false;
  // The parent of a glob is the directory above its first part with a special character.
  const parent = dirname(isGlob(path) ? path.slice(0, path.search(/[*?{]/) + 1) : path.replace(/\/+$/, ''));
  const hasLocalParent = parent !== '/' && (await statLocally(parent)) !== undefined;
  if (isGlob(path) && hasLocalParent) return false;
  if (!isGlob(path) && !hasLocalParent && !looksLikeFile(path)) return true;
  if (await isInLibrary()) return true;
  throw usageError(
    `${path} is neither a local file nor a folder in the library`,
    (await hintForFile(path, sources, hasLocalParent)) ??
      `folder:${path} to create that folder, or correct the local path`,
    isGlob(path)
      ? 'it matches no local files, and a glob names no folder'
      : hasLocalParent
        ? `the local directory ${parent} exists, so this could be a mistyped file name`
        : 'it looks like a file name',
  );
}

/** Returns what uploads a file under another name, if the last argument looks like one, as in `cp a.mov /P/b.mov`. */
async function hintForFile(path: string, [source, ...others]: readonly string[], hasLocalParent: boolean) {
  if (!looksLikeFile(path) || source === undefined || others.length > 0) return undefined;
  if ((await statLocally(source)) === 'directory' || isGlob(source)) return undefined;
  const folder = quoteForShell(`${hasLocalParent ? 'folder:' : ''}${dirname(path)}`);
  const upload = `mediactl upload ${quoteForShell(source)} ${folder} --name ${quoteForShell(basename(path))}`;
  return hasLocalParent ? `correct the local path; or ${upload}` : upload;
}

/** A key that cannot read folders can still upload. */
function falseIfForbidden(error: unknown): false {
  if (asCodedError(error).kind === 'forbidden') return false;
  throw error;
}

/** Returns what is at a local path; undefined if nothing is. A path that cannot be read counts as a file. */
const statLocally = (path: string) =>
  stat(path).then(
    (found) => (found.isDirectory() ? 'directory' : 'file'),
    (error: NodeJS.ErrnoException) => (['ENOENT', 'ENOTDIR'].includes(error.code ?? '') ? undefined : 'file'),
  );
