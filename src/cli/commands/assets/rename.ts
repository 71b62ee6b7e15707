import { basename, dirname, join } from 'node:path/posix';
import type { Command } from '@commander-js/extra-typings';
import { usageError } from '../../../client/errors.ts';
import { isLibraryPath, looksLikeFile } from '../../../client/library/library-paths.ts';
import { startAge } from '../../../shared/clock.ts';
import { displayText, quoteForShell } from '../../../shared/sanitize.ts';
import { type ActionWrapper, addExamples, type CommandOutcome } from '../../command.ts';
import type { Context } from '../../context.ts';
import { anyWorkspaceOption, type IdOptions, idHelp, newestOption, selectOneAsset } from '../../library/asset-ids.ts';
import { fetchFolderTree, resolveFolder } from '../../library/folders.ts';
import { announce, withoutRecords } from '../../output/outcome.ts';
import { dryRunPlan } from '../dry-run.ts';
import { isFolderPath, renameFolder } from '../folder-change.ts';
import { assetRecord } from './columns.ts';

export function rename(command: Command, run: ActionWrapper): void {
  addExamples(
    command,
    'mediactl rename @last "Quay at dusk"',
    'mediactl rename /Campaigns/2026/intro "Opening titles"',
    'mediactl rename /Campaigns/2026 "Spring 2026"',
  )
    .description(
      'Renames an asset, or a folder given by its path. It stays in the same folder. To rename many, edit the column name of a table: mediactl export /Folder names.csv, then mediactl apply names.csv.',
    )
    .argument('<id>', `${idHelp}; or a folder`)
    .argument('<name>', 'new name')
    .option(...newestOption)
    .option(...anyWorkspaceOption)
    .action(run((context, id, name, options) => runRename(context, { id, name, ...options })));
}

type RenameRequest = IdOptions & { id: string; name: string };

/** Returns what to type in place of a new name that looks like a path. */
function hintForPath(id: string, name: string): string {
  const [typed, folder, last] = [id, dirname(name), basename(name)].map(quoteForShell) as [string, string, string];
  if (!isLibraryPath(name))
    return `mediactl mv ${typed} /FOLDER; mediactl update ${typed} --name ${quoteForShell(name)}, for a name with a slash`;
  if (looksLikeFile(id) && !looksLikeFile(name)) return `mediactl mv ${typed} ${quoteForShell(name)}`;
  if (!isLibraryPath(id)) return `mediactl mv ${typed} ${folder}; mediactl rename ${typed} ${last}`;
  if (dirname(id) === dirname(name)) return `mediactl rename ${typed} ${last}`;
  return `mediactl mv ${typed} ${folder}; mediactl rename ${quoteForShell(join(dirname(name), basename(id)))} ${last}`;
}

async function runRename(context: Context, { id, name, ...options }: RenameRequest): Promise<CommandOutcome> {
  if (name.trim() === '') throw usageError('the new name is empty', 'mediactl rename ID NAME');
  const { tree, workspace } = isLibraryPath(id) ? await fetchFolderTree(context) : {};
  if (tree && workspace !== undefined && isFolderPath(tree, id))
    return renameFolder(context, { tree, workspace, placed: await resolveFolder(context, tree, id) }, name);
  if (name.includes('/')) throw usageError('a name with a slash cannot be part of a path', hintForPath(id, name));
  const ageMs = startAge(context.clock);
  const selected = await selectOneAsset(
    context,
    { collection: 'assets', id, purpose: 'change' },
    { ...options, needsName: true },
  );
  if (context.settings.dryRun)
    return dryRunPlan(context, [(await context.api()).assets.updateRequest(selected.uid, { name })]);
  const label = { command: 'rename', summary: `rename to ${name}`, ageMs };
  const { asset, name: before } = await (await context.writer()).edit(selected, { fields: { name } }, label);
  announce(context, `renamed ${displayText(before ?? asset.uid)} to ${displayText(asset.name ?? name)}`);
  return withoutRecords(context, { result: await assetRecord(context, asset) });
}
