import type { Command } from '@commander-js/extra-typings';
import { record } from '../../terminal/result.ts';
import { example, type Run } from '../command.ts';
import { workspaceRows } from './columns.ts';
import { resolveWorkspace } from './resolve.ts';

export function get(command: Command, run: Run): void {
  example(command, 'mediactl workspaces get Main');
  command
    .alias('show')
    .summary('show one workspace')
    .description('Shows one workspace, by uid or exact name.')
    .argument('<workspace>', 'uid or name')
    .action(
      run(async (context, uidOrName) => {
        const workspace = await resolveWorkspace(await context.api(), uidOrName);
        return record(workspace, workspace.uid, workspaceRows);
      }),
    );
}
