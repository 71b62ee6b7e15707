import { activeFilters, flagOf } from '../../../contract/asset-filters.ts';
import { quoteForShell } from '../../../contract/sanitize.ts';
import type { FolderView, Query } from '../protocol.ts';
import { flattenTree } from './folders.tsx';

/** Returns the command that shows a view. @param program with the profile, if it is not the default */
export function formatViewCommand(program: string, query: Query, tree: readonly FolderView[]): string {
  const { ordering, search, parent, ...filters } = query;
  const options = activeFilters(filters).flatMap((row) => [flagOf(row), row.value]);
  if (ordering) options.push('--sort', ordering);
  const words = [folderOf(parent, tree), search].filter((word) => word !== undefined);
  const operands = words.some((word) => word.startsWith('-')) ? ['--', ...words] : words;
  return [program, 'browse', ...[...options, ...operands].map(quoteForShell)].join(' ');
}

/** Returns the path of a folder, or its uid if the command would read the path as a pattern. */
function folderOf(parent: string | undefined, tree: readonly FolderView[]): string | undefined {
  if (parent === 'root') return '/';
  const path = flattenTree(tree).find(({ uid }) => uid === parent)?.path;
  return path === undefined || /[*?{\\]/.test(path) ? parent : path;
}
