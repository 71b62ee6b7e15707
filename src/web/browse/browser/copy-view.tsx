import { activeFilters, flagOf } from '../../../contract/asset-filters.ts';
import { isUid } from '../../../contract/uid.ts';
import { quoteForShell } from '../../../shared/sanitize.ts';
import type { FolderView, Query } from '../protocol.ts';
import { setup } from './api.ts';
import { Button } from './controls.tsx';
import { findFolder } from './folders.tsx';
import { useCopy } from './hooks.ts';

type CopyViewProps = { tree: readonly FolderView[]; query: Query };

/** Copies the command that shows this view to anybody who has a key. */
export function CopyView({ tree, query }: CopyViewProps) {
  const { outcome, copy } = useCopy();
  const copyCommand = () => copy(formatViewCommand('browse', query, tree));
  return (
    <Button
      class="copy-view"
      icon="link"
      text={<span aria-live="polite">{outcome ?? 'Copy view'}</span>}
      title="Copy the command that shows this view"
      onClick={copyCommand}
    />
  );
}

/** Returns the command that shows a view, with the profile if it is not the default. */
export function formatViewCommand(command: 'browse' | 'ls', query: Query, tree: readonly FolderView[]): string {
  const { program } = setup;
  const { ordering, search, parent, ...filters } = query;
  if (search && !isPlainText(search)) {
    if (command === 'browse') return `${program} browse ${quoteForShell(location.href)}`;
    throw new Error('no command has this search; copy the uids');
  }
  const options = activeFilters(filters).flatMap((row) => [flagOf(row), row.value]);
  if (ordering) options.push('--sort', ordering);
  const words = [folderOf(parent, tree), search].filter((word) => word !== undefined);
  const operands = words.some((word) => word.startsWith('-')) ? ['--', ...words] : words;
  return [program, command, ...[...options, ...operands].map(quoteForShell)].join(' ');
}

/** Returns true for a search text that the command reads as one, not as a folder, a uid or an address. */
const isPlainText = (search: string) => !isUid(search) && !/^(?:\/|folder:|https?:)/i.test(search);

/** Returns the path of a folder, or its uid if the command would read the path as a pattern. */
function folderOf(parent: string | undefined, tree: readonly FolderView[]): string | undefined {
  if (parent === 'root') return '/';
  const path = findFolder(tree, parent)?.path;
  return path === undefined || /[*?{\\]/.test(path) ? parent : path;
}
