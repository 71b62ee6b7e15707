import { usageError } from '../../../client/errors.ts';
import { displayText, escapeControls } from '../../../contract/sanitize.ts';
import type { Workspace } from '../../../contract/types.ts';
import type { Context } from '../../context.ts';
import { promptForWorkspace, resolveWorkspace, toProfileFields } from '../../library/workspaces.ts';
import { type Column, type DetailRow, list as listPages, noResult, type Result, record } from '../../output/result.ts';
import { addExamples, type CommandDefinition, type Define, verb } from '../command.ts';

export const workspaces: CommandDefinition = [
  verb('ls', 'list the workspaces', async () => list, 'list'),
  verb('get', 'show one workspace', async () => get, 'show'),
  verb('use', 'choose the workspace to work in', async () => use),
];

const list: Define = (command, run) =>
  addExamples(command, 'mediactl workspaces ls')
    .description('Lists the workspaces that the key can see.')
    .action(
      run(async (context) => listPages((await context.api()).workspaces.list(), workspaceColumns, 'no workspaces')),
    );

const get: Define = (command, run) =>
  addExamples(command, 'mediactl workspaces get Main')
    .description('Shows one workspace, by uid or exact name.')
    .argument('[workspace]', 'uid or its beginning, or name')
    .action(run(async (context, uidOrName) => workspaceRecord(await findOrChooseWorkspace(context, uidOrName))));

const findOrChooseWorkspace = async (context: Context, uidOrName: string | undefined) =>
  uidOrName === undefined
    ? promptForWorkspace(context, usageError('which workspace?', 'mediactl workspaces ls'))
    : resolveWorkspace(context, await context.api(), uidOrName);

const use: Define = (command, run) =>
  addExamples(command, 'mediactl workspaces use Main')
    .description('Keeps a workspace in the profile, so that --workspace may be left out.')
    .argument('[workspace]', 'uid or its beginning, or name')
    .action(run(runUse));

async function runUse(context: Context, uidOrName: string | undefined): Promise<Result> {
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
  return workspaceRecord(workspace);
}

const workspaceColumns: Column<Workspace>[] = [
  { header: 'UID', value: ({ uid }) => escapeControls(uid), uid: 'workspace', field: 'uid' },
  { header: 'NAME', value: ({ name }) => displayText(name), isFirst: true },
  { header: 'PRIMARY', value: ({ is_primary }) => (is_primary ? 'yes' : '') },
];

const workspaceRecord = (workspace: Workspace): Result =>
  record(workspace, workspace.uid, workspaceRows, { uid: 'workspace' });

const workspaceRows = (workspace: Workspace): DetailRow[] =>
  Object.entries(workspace).map(([field, value]) => [field.replaceAll('_', ' '), displayText(value)]);
