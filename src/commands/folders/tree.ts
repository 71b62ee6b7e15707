import type { Command } from '@commander-js/extra-typings';
import type { Placed } from '../../api/folder-tree.ts';
import { printable } from '../../terminal/printable.ts';
import type { Dress } from '../../terminal/result.ts';
import { record } from '../../terminal/result.ts';
import { example, type Run } from '../command.ts';
import { readTree } from './resolve.ts';

export function tree(command: Command, run: Run): void {
  example(command, 'mediactl folders tree', "mediactl folders tree --jq '.[].name'");
  command
    .summary('draw the folders of the workspace')
    .description(
      'Draws the folders of the workspace as a tree. With --json, the tree as the service sent it.',
    )
    .action(
      run(async (context) => {
        const { tree: folders, workspace } = await readTree(context);
        if (folders.all.length === 0 && context.terminal.stdout.isTTY)
          context.terminal.say('no folders');
        return record(
          folders.roots.map(({ folder }) => folder),
          workspace,
          (_record, dress) => drawn(folders.roots, '', dress),
        );
      }),
    );
}

/** Lines as `tree` draws them. */
function drawn(level: readonly Placed[], indent: string, dress: Dress): string {
  return level
    .map((placed, at) => {
      const isLast = at === level.length - 1;
      const name = `${printable(placed.name)}  ${dress.colors.dim(printable(placed.folder.uid))}`;
      const below = drawn(placed.children, indent + (isLast ? '    ' : '│   '), dress);
      return `${dress.colors.dim(indent + (isLast ? '└── ' : '├── '))}${name}\n${below}`;
    })
    .join('');
}
