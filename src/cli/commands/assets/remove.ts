import type { Command } from '@commander-js/extra-typings';
import type { Collection } from '../../../contract/paths.ts';
import { idHelp, newestOption } from '../../library/asset-ids.ts';
import { createReceiptRemover } from '../../uploading/receipts.ts';
import { type ActionWrapper, addExamples } from '../command.ts';
import { parseWriteLimit } from '../confirm-many.ts';
import { dryRunPlan } from '../dry-run.ts';
import { parseFilters, withFilters } from '../filters.ts';
import { bulkResult, runConcurrently } from './bulk.ts';
import { confirmBulk, resolveTargets } from './targets.ts';

export function remove(command: Command, run: ActionWrapper, collection: Collection): void {
  addExamples(
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
        const limit = parseWriteLimit('--max-delete', options.maxDelete);
        const filters = await parseFilters(context, options);
        const { targets } = await resolveTargets(context, collection, ids, filters, limit, {
          ...options,
          verb: 'rm',
        });
        const { [collection]: assets } = await context.api();
        if (context.settings.dryRun)
          return dryRunPlan(
            context,
            targets.map(({ uid }) => assets.deleteRequest(uid)),
          );
        const action = (what: string) => `move ${what} to the trash`;
        await confirmBulk(context, collection, targets, { action, limit });
        const forget = await createReceiptRemover(context);
        const outcomes = await runConcurrently(context, targets, async ({ uid }) => {
          await assets.delete(uid);
          await forget(uid);
          return {};
        });
        const deletedCount = outcomes.filter(({ error }) => !error).length;
        if (deletedCount > 0)
          context.terminal.info(
            `${deletedCount} moved to the trash; the API cannot restore ${deletedCount === 1 ? 'it' : 'them'}`,
          );
        return bulkResult(context, outcomes, 'moved to the trash', collection);
      }),
    );
}
