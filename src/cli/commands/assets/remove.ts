import type { Command } from '@commander-js/extra-typings';
import type { Collection } from '../../../contract/paths.ts';
import { idHelp, newestOption } from '../../library/asset-ids.ts';
import { forgetting } from '../../uploading/receipts.ts';
import { example, type Run } from '../command.ts';
import { writeLimit } from '../confirm-many.ts';
import { dryRunPlan } from '../dry-run.ts';
import { filtersOf, withFilters } from '../filters.ts';
import { bulkResult, inLanes } from './bulk.ts';
import { confirmBulk, targetsOf } from './targets.ts';

export function remove(command: Command, run: Run, collection: Collection): void {
  example(
    command,
    `mediactl ${collection} rm @last`,
    `mediactl ${collection} rm --tag rushes --created-before 90d --max-delete 500 --yes`,
    `mediactl ${collection} rm --search test --dry-run`,
  );
  const described = command
    .alias('delete')
    .summary(`move ${collection} to the trash`)
    .description(
      `Moves ${collection} to the trash: those given, or all that the filters match. The API cannot restore them.`,
    )
    .argument('[id...]', `${idHelp}; - for stdin`);
  withFilters(described, collection)
    .option('--max-delete <number>', 'how many at most (100)')
    .option(...newestOption)
    .action(
      run(async (context, ids, options) => {
        const limit = writeLimit('--max-delete', options.maxDelete);
        const filters = await filtersOf(context, options);
        const { targets } = await targetsOf(context, collection, ids, filters, limit, {
          ...options,
          verb: 'rm',
        });
        const { [collection]: assets } = await context.api();
        if (context.settings.dryRun)
          return dryRunPlan(
            context,
            targets.map(({ uid }) => assets.deleting(uid)),
          );
        const action = (what: string) => `move ${what} to the trash`;
        await confirmBulk(context, collection, targets, { action, limit });
        const forget = await forgetting(context);
        const outcomes = await inLanes(context, targets, async ({ uid }) => {
          await assets.delete(uid);
          await forget(uid);
          return {};
        });
        const gone = outcomes.filter(({ error }) => !error).length;
        if (gone > 0)
          context.terminal.say(
            `${gone} moved to the trash; the API cannot restore ${gone === 1 ? 'it' : 'them'}`,
          );
        return bulkResult(context, outcomes, 'moved to the trash', collection);
      }),
    );
}
