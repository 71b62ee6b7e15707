import type { StoredItem } from '../../client/changes/change-item.ts';
import { createFolderPath, parseFolderPath } from '../../client/changes/folder-creation.ts';
import { CodedError } from '../../client/errors.ts';
import type { FolderNode, WorkspaceFolderTree } from '../../client/library/folder-tree.ts';
import { isRootPath, withoutFolderPrefix } from '../../client/library/library-paths.ts';
import { quoteForShell } from '../../shared/sanitize.ts';
import type { Context } from '../context.ts';
import { confirm } from '../terminal/prompt.ts';
import { fetchFolderTree, missingFolderHint, warnOfOtherCase } from './folders.ts';

export type PlacedFolder = { workspace: string; tree: WorkspaceFolderTree; placed: FolderNode };

/** Adds how to delete a folder that is not empty to the service's refusal. */
export function explainRefusal(error: CodedError, { name }: Pick<StoredItem, 'name'>): CodedError {
  const { code, subcode } = error.explanation;
  if (error.kind !== 'rejected' || subcode === 'conflict' || code === 'write_ignored') return error;
  const hint = `mediactl rm -r ${quoteForShell(name ?? '')}, to delete its content too`;
  return new CodedError(`the service refused to delete ${name}`, { ...error.explanation, remedy: undefined, hint });
}

/** Replaces the next step of a refused deletion in a workspace where `rm -r` finds no folder (assumption A26). */
export async function explainRefusalIn(context: Context, error: unknown): Promise<unknown> {
  if (!(error instanceof CodedError) || !error.explanation.hint?.startsWith('mediactl rm -r ')) return error;
  const { workspaceInUse } = await context.library();
  const why = await workspaceInUse.primary().then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (why === undefined) return error;
  const hint = 'delete what is in it first, assets by their uids: mediactl ls WORDS, to see them';
  return error.with({ hint });
}

/**
 * Returns a folder that assets or folders are to be moved to; undefined for the top level. Creates a missing folder
 * once the user agrees.
 *
 * @throws CodedError `declined` (exit 130), or `not_found` (exit 3) if there is no terminal to ask on
 */
export async function ensureFolder(context: Context, typed: string, mayCreate: boolean) {
  if (isRootPath(typed)) return undefined;
  const path = withoutFolderPrefix(typed);
  const names = parseFolderPath(path);
  const mayCreateNow = mayCreate || context.settings.yes;
  const { tree } = await fetchFolderTree(context);
  if (!mayCreateNow && !context.terminal.isInteractive)
    throw new CodedError(`folder ${path} does not exist`, {
      code: 'not_found',
      hint: missingFolderHint(tree, path, `--create-folders creates ${path}`),
    });
  warnOfOtherCase(context, tree, path);
  if (!mayCreateNow) await confirm(context, `Folder ${path} does not exist. Create it?`);
  return (await createFolderPath(await context.library(), names, true)).node;
}
