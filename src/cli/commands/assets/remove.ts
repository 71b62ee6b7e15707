import type { Command } from '@commander-js/extra-typings';
import type { Collection } from '../../../contract/paths.ts';
import type { Context } from '../../context.ts';
import { idHelp, newestOption } from '../../library/asset-ids.ts';
import { createReceiptRemover } from '../../uploading/receipts.ts';
import { type ActionWrapper, addExamples, type FlagsOf } from '../command.ts';
import { parseWriteLimit } from '../confirm-many.ts';
import { dryRunPlan } from '../dry-run.ts';
import { parseFilters, withFilters } from '../filters.ts';
import { bulkResult, confirmBulk, resolveTargets, runConcurrently, type TargetRequest } from './bulk.ts';

export function remove(command: Command, run: ActionWrapper, collection: Collection): void {
  addExamples(
    command,
    `mediactl ${collection} rm @last`,
    `mediactl ${collection} rm --tag rushes --created-before 90d --max-delete 500 --yes`,
    `mediactl ${collection} rm --search test --dry-run`,
  );
  addRemoveOptions(command, collection).action(
    run(async (context, ids, flags) =>
      runRemove(context, await parseRemoveRequest(context, { collection, ids }, flags)),
    ),
  );
}

function addRemoveOptions(command: Command, collection: Collection) {
  const described = command
    .description(
      `Moves ${collection} to the trash: those given, or all that the filters match. The API cannot restore them.`,
    )
    .argument('[id...]', `${idHelp}; - for stdin`);
  return withFilters(described, collection)
    .option('--max-delete <number>', 'how many at most (100)')
    .option(...newestOption);
}

async function parseRemoveRequest(
  context: Context,
  { collection, ids }: Pick<TargetRequest, 'collection' | 'ids'>,
  flags: FlagsOf<typeof addRemoveOptions>,
): Promise<TargetRequest> {
  const limit = parseWriteLimit('--max-delete', flags.maxDelete);
  const filters = await parseFilters(context, flags);
  return { verb: 'rm', collection, ids, filters, limit, newest: flags.newest };
}

async function runRemove(context: Context, request: TargetRequest) {
  const { collection, limit } = request;
  const { targets } = await resolveTargets(context, request);
  const { [collection]: assets } = await context.api();
  const requests = () => targets.map(({ uid }) => assets.deleteRequest(uid));
  if (context.settings.dryRun) return dryRunPlan(context, requests());
  await confirmBulk(context, collection, targets, { action: (what) => `move ${what} to the trash`, limit });
  const forget = await createReceiptRemover(context);
  const outcomes = await runConcurrently(context, targets, async ({ uid }) => {
    await assets.delete(uid);
    await forget(uid);
    return {};
  });
  const count = outcomes.filter(({ error }) => !error).length;
  if (count > 0)
    context.terminal.info(`${count} moved to the trash; the API cannot restore ${count === 1 ? 'it' : 'them'}`);
  return bulkResult(context, outcomes, 'moved to the trash', collection);
}
