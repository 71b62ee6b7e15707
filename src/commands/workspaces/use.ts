import type { Command } from '@commander-js/extra-typings';
import { usageError } from '../../errors.ts';
import { cell } from '../../terminal/printable.ts';
import { nothing, record } from '../../terminal/result.ts';
import { example, type Run } from '../command.ts';
import { workspaceRows } from './columns.ts';
import { resolveWorkspace } from './resolve.ts';

export function use(command: Command, run: Run): void {
  example(command, 'mediactl workspaces use Main');
  command
    .summary('choose the workspace to work in')
    .description('Keeps a workspace in the profile, so that --workspace may be left out.')
    .argument('<workspace>', 'uid or name')
    .action(
      run(async (context, uidOrName) => {
        const { profile } = await context.account();
        const workspace = await resolveWorkspace(await context.api(), uidOrName);
        if (context.onlyPretends(`work in ${workspace.uid} with profile ${profile}`))
          return nothing;
        await context.profiles.update(({ profiles }) => {
          const mine = profiles[profile];
          if (!mine)
            throw usageError(
              'there is no profile to keep the workspace in',
              'set MEDIACTL_WORKSPACE, or mediactl auth login',
              'the account comes from MEDIACTL_API_KEY',
            );
          mine.workspace = workspace.uid;
        });
        context.terminal.say(
          `profile ${profile} now works in ${cell(workspace.name ?? workspace.uid)}`,
        );
        return record(workspace, workspace.uid, workspaceRows);
      }),
    );
}
