import type { Command } from '@commander-js/extra-typings';
import { usageError } from '../../../client/errors.ts';
import { isLibraryPath } from '../../../client/library/library-paths.ts';
import { type ActionWrapper, addExamples } from '../../command.ts';
import type { Context } from '../../context.ts';
import { anyWorkspaceOption, type IdOptions, idHelp, newestOption, selectOneAsset } from '../../library/asset-ids.ts';
import { findFolderAt } from '../../library/folder-changes.ts';
import type { Result } from '../../output/result.ts';
import { dryRunPlan } from '../dry-run.ts';
import { changeFolder } from '../folder-change.ts';
import { assetRecord } from './columns.ts';

export function rename(command: Command, run: ActionWrapper): void {
  addExamples(
    command,
    'mediactl rename @last "Quay at dusk"',
    'mediactl rename /Campaigns/2026/intro "Opening titles"',
    'mediactl rename /Campaigns/2026 "Spring 2026"',
  )
    .description('Renames an asset, or a folder given by its path. It stays in the same folder.')
    .argument('<id>', `${idHelp}; or a folder`)
    .argument('<name>', 'new name')
    .option(...newestOption)
    .option(...anyWorkspaceOption)
    .action(run((context, id, name, options) => runRename(context, { id, name, ...options })));
}

type RenameRequest = IdOptions & { id: string; name: string };

async function runRename(context: Context, { id, name, ...options }: RenameRequest): Promise<Result> {
  if (name.trim() === '') throw usageError('the new name is empty', 'mediactl rename ID NAME');
  const folder = isLibraryPath(id) ? await findFolderAt(context, id) : undefined;
  if (folder) return changeFolder(context, folder, { name });
  if (name.includes('/'))
    throw usageError(
      'a name with a slash cannot be part of a path',
      'mediactl mv ID /FOLDER, or update ID --name NAME',
    );
  const selected = await selectOneAsset(context, { collection: 'assets', id, purpose: 'change' }, options);
  if (context.settings.dryRun)
    return dryRunPlan(context, [(await context.api()).assets.updateRequest(selected.uid, { name })]);
  const label = { command: 'rename', summary: `rename to ${name}` };
  const { asset } = await (await context.writer()).edit(selected, { fields: { name } }, label);
  return assetRecord(context, asset);
}
