import { usageError } from '../../../client/errors.ts';
import type { WorkspaceRecord } from '../../../contract/types.ts';
import { displayText } from '../../../shared/sanitize.ts';
import { addExamples, type CommandDefinition, type Define, verb } from '../../command.ts';
import type { Context } from '../../context.ts';
import { promptForWorkspace, resolveWorkspace, toProfileFields } from '../../library/workspaces.ts';
import { type Column, type DetailRow, list as listPages, noResult, type Result, record } from '../../output/result.ts';

export const workspaces: CommandDefinition = [
  verb('ls', 'list the workspaces', async () => list, 'list'),
  verb('use', 'set the default workspace', async () => use),
];

const list: Define = (command, run) =>
  addExamples(command, 'mediactl workspaces ls')
    .description('Lists the workspaces that the API key can access.')
    .action(
      run(async (context) => listPages((await context.api()).workspaces.list(), workspaceColumns, 'no workspaces')),
    );

const findOrChooseWorkspace = async (context: Context, uidOrName: string | undefined) =>
  uidOrName === undefined
    ? promptForWorkspace(context, usageError('no workspace given', 'mediactl workspaces ls'))
    : resolveWorkspace(context, await context.api(), uidOrName);

const use: Define = (command, run) =>
  addExamples(command, 'mediactl workspaces use Main')
    .description('Saves a workspace in the profile as the default for --workspace.')
    .argument('[workspace]', 'uid, start of a uid, or exact name')
    .action(run(runUse));

async function runUse(context: Context, uidOrName: string | undefined): Promise<Result> {
  const { profile } = await context.account();
  const workspace = await findOrChooseWorkspace(context, uidOrName);
  if (context.isDryRun(`make ${workspace.uid} the default workspace of profile ${profile}`)) return noResult;
  await context.profiles.update(({ profiles }) => {
    const mine = profiles[profile];
    if (!mine)
      throw usageError(
        'no profile to save the workspace in',
        'mediactl auth login, or set MEDIACTL_WORKSPACE',
        'the account comes from MEDIACTL_API_KEY',
      );
    Object.assign(mine, toProfileFields(workspace));
  });
  context.terminal.info(`profile ${profile} now uses workspace ${displayText(workspace.name ?? workspace.uid)}`);
  return workspaceRecord(workspace);
}

const workspaceColumns: Column<WorkspaceRecord>[] = [
  { field: 'uid', uid: 'workspace' },
  { field: 'name', isFirst: true },
  { field: 'is_primary', value: ({ is_primary }) => (is_primary ? 'yes' : '') },
];

const workspaceRecord = (workspace: WorkspaceRecord): Result =>
  record(workspace, workspace.uid, workspaceRows, { uid: 'workspace' });

const workspaceRows = (workspace: WorkspaceRecord): DetailRow[] =>
  Object.entries(workspace).map(([field, value]) => [field.replaceAll('_', ' '), displayText(value)]);
