import type { Command } from '@commander-js/extra-typings';
import { usageError } from '../../../client/errors.ts';
import { displayText, escapeControls } from '../../../contract/sanitize.ts';
import type { Workspace } from '../../../contract/types.ts';
import type { Context } from '../../context.ts';
import { promptForWorkspace, resolveWorkspace, toProfileFields } from '../../library/workspaces.ts';
import { type Column, type DetailRow, list as listPages, noResult, record } from '../../output/result.ts';
import { type ActionWrapper, addExamples, type CommandDefinition } from '../command.ts';

export const workspaces: CommandDefinition = (noun, run) => {
  list(noun.command('ls'), run);
  get(noun.command('get'), run);
  use(noun.command('use'), run);
};

function list(command: Command, run: ActionWrapper): void {
  addExamples(command, 'mediactl workspaces ls');
  command
    .alias('list')
    .summary('list the workspaces')
    .description('Lists the workspaces that the key can see.')
    .action(
      run(async (context) => {
        const { workspaces } = await context.api();
        return listPages(workspaces.list(), workspaceColumns, 'no workspaces');
      }),
    );
}

function get(command: Command, run: ActionWrapper): void {
  addExamples(command, 'mediactl workspaces get Main');
  command
    .alias('show')
    .summary('show one workspace')
    .description('Shows one workspace, by uid or exact name.')
    .argument('[workspace]', 'uid or its beginning, or name')
    .action(
      run(async (context, uidOrName) => {
        const workspace = await findOrChooseWorkspace(context, uidOrName);
        return record(workspace, workspace.uid, workspaceRows, { uid: 'workspace' });
      }),
    );
}

const findOrChooseWorkspace = async (context: Context, uidOrName: string | undefined) =>
  uidOrName === undefined
    ? promptForWorkspace(context, usageError('which workspace?', 'mediactl workspaces ls'))
    : resolveWorkspace(context, await context.api(), uidOrName);

function use(command: Command, run: ActionWrapper): void {
  addExamples(command, 'mediactl workspaces use Main');
  command
    .summary('choose the workspace to work in')
    .description('Keeps a workspace in the profile, so that --workspace may be left out.')
    .argument('[workspace]', 'uid or its beginning, or name')
    .action(
      run(async (context, uidOrName) => {
        const { profile } = await context.account();
        const workspace = await findOrChooseWorkspace(context, uidOrName);
        if (context.isDryRun(`work in ${workspace.uid} with profile ${profile}`)) return noResult;
        await context.profiles.update(({ profiles }) => {
          const mine = profiles[profile];
          if (!mine)
            throw usageError(
              'there is no profile to keep the workspace in',
              'set MEDIACTL_WORKSPACE, or mediactl auth login',
              'the account comes from MEDIACTL_API_KEY',
            );
          Object.assign(mine, toProfileFields(workspace));
        });
        context.terminal.info(`profile ${profile} now works in ${displayText(workspace.name ?? workspace.uid)}`);
        return record(workspace, workspace.uid, workspaceRows, { uid: 'workspace' });
      }),
    );
}

const workspaceColumns: Column<Workspace>[] = [
  { header: 'UID', value: ({ uid }) => escapeControls(uid), uid: 'workspace', field: 'uid' },
  { header: 'NAME', value: ({ name }) => displayText(name), isFirst: true },
  { header: 'PRIMARY', value: ({ is_primary }) => (is_primary ? 'yes' : '') },
];

const workspaceRows = (workspace: Workspace): DetailRow[] =>
  Object.entries(workspace).map(([field, value]) => [field.replaceAll('_', ' '), displayText(value)]);
