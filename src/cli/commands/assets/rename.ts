import type { Command } from '@commander-js/extra-typings';
import { assetItem } from '../../../client/bulk/items.ts';
import { usageError } from '../../../client/errors.ts';
import { isLibraryPath } from '../../../client/library/library-paths.ts';
import type { Asset } from '../../../contract/types.ts';
import { type ActionWrapper, addExamples } from '../../command.ts';
import type { Context } from '../../context.ts';
import { anyWorkspaceOption, type IdOptions, idHelp, newestOption, selectOneAsset } from '../../library/asset-ids.ts';
import { itemWriter, runSingleChange } from '../../library/bulk-run.ts';
import {
  assertFolderName,
  assertNoTwin,
  changeFolder,
  findFolderAt,
  folderChangeRequest,
} from '../../library/folder-changes.ts';
import type { Result } from '../../output/result.ts';
import { dryRunPlan } from '../dry-run.ts';
import { folderResult } from '../folder-view.ts';
import { fetchRecords } from './bulk.ts';
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
  if (folder) {
    assertFolderName(name);
    assertNoTwin(folder, { name });
    if (context.settings.dryRun) return dryRunPlan(context, [await folderChangeRequest(context, folder, { name })]);
    return folderResult(await changeFolder(context, folder, { name }));
  }
  if (name.includes('/'))
    throw usageError(
      'a name with a slash cannot be part of a path',
      'mediactl mv ID /FOLDER, or update ID --name NAME',
    );
  const { assets } = await context.api();
  const selected = await selectOneAsset(context, { collection: 'assets', id, purpose: 'change' }, options);
  if (context.settings.dryRun) return dryRunPlan(context, [assets.updateRequest(selected.uid, { name })]);
  const [asked = selected] = context.isHumanOutput ? await fetchRecords(assets, [selected]) : [];
  const item = assetItem(assets, asked, { name });
  const change = { command: 'rename', summary: `rename to ${name}`, item };
  const write = await itemWriter(context, context.clock.now());
  const { asset } = await runSingleChange(context, change, write);
  return assetRecord(context, asset as Asset);
}
