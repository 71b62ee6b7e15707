import type { Command } from '@commander-js/extra-typings';
import { list as listOf } from '../../terminal/result.ts';
import { example, type Run } from '../command.ts';
import { workspaceColumns } from './columns.ts';

export function list(command: Command, run: Run): void {
  example(command, 'mediactl workspaces ls');
  command
    .alias('list')
    .summary('list the workspaces')
    .description('Lists the workspaces that the key can see.')
    .action(
      run(async (context) => {
        const { workspaces } = await context.api();
        return listOf(workspaces.list(), workspaceColumns, 'no workspaces');
      }),
    );
}
