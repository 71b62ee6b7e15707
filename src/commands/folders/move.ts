import type { Command } from '@commander-js/extra-typings';
import { usageError } from '../../errors.ts';
import { example, type Run } from '../command.ts';
import { changed } from './change.ts';
import { folderHelp, isRoot, placedAt } from './resolve.ts';

export function move(command: Command, run: Run): void {
  example(
    command,
    'mediactl folders mv /Campaigns/2026 /Archive',
    'mediactl folders mv /Archive/2026 /',
  );
  command
    .summary('move a folder into another one')
    .description('Moves a folder, with all that is in it, into another one; / is the top level.')
    .argument('<folder>', folderHelp)
    .argument('<parent>', 'where to, by uid or path; / for the top level')
    .action(
      run((context, folder, parent) =>
        changed(context, folder, (tree, moving) => {
          if (isRoot(parent)) return { parent: null };
          const target = placedAt(tree, parent);
          for (let at: typeof target | undefined = target; at; at = at.parent)
            if (at === moving)
              throw usageError(
                `${moving.path} cannot move below itself`,
                'move it elsewhere, or move its folders out of it first',
                `${target.path} is ${target === moving ? 'the folder itself' : 'in it'}`,
              );
          return { parent: target.folder.uid };
        }),
      ),
    );
}
