import type { Context } from '../../context.ts';
import { usageError } from '../../errors.ts';
import { isUid } from '../../wire/uid.ts';
import { createPath } from '../folders/create.ts';
import { folderUid, isRoot } from '../folders/resolve.ts';

/**
 * Tells the folder's uid for what is below it on disk. Without --create-folders all go into the one
 * that was named, which must be there; with it, folders are made like the directories, each once.
 */
export async function targetFolders(context: Context, wanted: string, create: boolean) {
  if (!create) {
    const uid = isRoot(wanted) ? undefined : await folderUid(context, wanted);
    return async () => uid;
  }
  if (isUid(wanted)) throw usageError('--create-folders takes a path', '--folder /Campaigns/2026');
  const known = new Map<string, Promise<string | undefined>>();
  return (below: string) => {
    const parts = [...(isRoot(wanted) ? [] : wanted.split('/')), ...below.split('/')].filter(
      Boolean,
    );
    const path = parts.join('/');
    const made = known.get(path) ?? folderMade(context, parts);
    known.set(path, made);
    return made;
  };
}

async function folderMade(context: Context, parts: readonly string[]) {
  if (parts.length === 0) return undefined;
  if (!context.settings.dryRun) return (await createPath(context, parts, true)).folder.uid;
  return `(uid of /${parts.join('/')})`;
}
