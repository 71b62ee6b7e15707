import type { Command } from '@commander-js/extra-typings';
import { list as listOf } from '../../terminal/result.ts';
import { example, type Run } from '../command.ts';
import { folderColumns, folderRecord } from './columns.ts';
import { below, folderHelp, isRoot, placedAt, readTree } from './resolve.ts';

export function list(command: Command, run: Run): void {
  example(
    command,
    'mediactl folders ls',
    'mediactl folders ls /Campaigns',
    'mediactl folders ls -r',
  );
  command
    .alias('list')
    .summary('list the folders in a folder')
    .description(
      'Lists the folders in a folder, or at the top level; with -r those below them too.',
    )
    .argument('[folder]', folderHelp)
    .option('-r, --recursive', 'all below it')
    .action(
      run(async (context, folder, { recursive }) => {
        const { tree } = await readTree(context);
        const top = folder === undefined || isRoot(folder) ? undefined : placedAt(tree, folder);
        const level = top ? top.children : tree.roots;
        const inside = recursive ? level.flatMap((each) => [each, ...below(each)]) : level;
        return listOf([inside.map(folderRecord)], folderColumns, 'no folders');
      }),
    );
}
