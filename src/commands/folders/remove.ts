import type { Command } from '@commander-js/extra-typings';
import { confirm } from '../../terminal/prompt.ts';
import { record } from '../../terminal/result.ts';
import { example, type Run } from '../command.ts';
import { planned } from '../planned.ts';
import { folderRecord, folderRows } from './columns.ts';
import { below, folderHelp, placedAt, readTree } from './resolve.ts';

export function remove(command: Command, run: Run): void {
  example(command, 'mediactl folders rm /Campaigns/2026 --yes');
  command
    .alias('delete')
    .summary('delete a folder')
    .description(
      'Deletes a folder. Whether one that is not empty may be deleted is up to the service; the sandbox refuses.',
    )
    .argument('<folder>', folderHelp)
    .action(
      run(async (context, folder) => {
        const { folders } = await context.api();
        const { tree, workspace } = await readTree(context);
        const placed = placedAt(tree, folder);
        const { uid } = placed.folder;
        if (context.settings.dryRun) return planned(context, [folders.deleting(workspace, uid)]);
        const inside = below(placed).length;
        const holding = inside === 0 ? '' : ` and the ${inside} below it`;
        await confirm(context.terminal, `Delete ${placed.path}${holding}?`, {
          yes: context.settings.yes,
          instead: `mediactl folders rm ${folder} --yes`,
        });
        await folders.delete(workspace, uid);
        context.terminal.say(`deleted ${placed.path}`);
        return record(folderRecord(placed), uid, folderRows);
      }),
    );
}
