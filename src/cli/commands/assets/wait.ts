import { type Command, Option } from '@commander-js/extra-typings';
import { combineFailures, MediactlError, usageError } from '../../../client/errors.ts';
import { assertFiltersApplied } from '../../../client/library/filter-checks.ts';
import type { AssetFilters } from '../../../contract/asset-filters.ts';
import { suggestedStatuses } from '../../../contract/asset-values.ts';
import { asText } from '../../../contract/json-values.ts';
import type { Collection } from '../../../contract/paths.ts';
import type { Asset } from '../../../contract/types.ts';
import { type ActionWrapper, addExamples, withSuggestions } from '../../command.ts';
import type { Context } from '../../context.ts';
import { idsHelp, newestOption, resolveAssetUids } from '../../library/asset-ids.ts';
import { waitWithDisplay } from '../../progress/wait-display.ts';
import { parseDuration } from '../../settings/units.ts';
import { waitForUploads } from '../../uploading/wait-for-uploads.ts';
import { hasFilters, parseFilters, rejectWorkspaceFlag, withFilters } from '../filters.ts';
import { recordOrList } from './columns.ts';
import type { GetRequest } from './get.ts';

export function wait(command: Command, run: ActionWrapper, collection: Collection): void {
  addExamples(
    command,
    `mediactl ${collection} wait @last --timeout 10m`,
    `mediactl ${collection} wait`,
    `mediactl ${collection} wait --tag dailies`,
  );
  const described = command
    .description(
      'Waits until assets are ready: the given ones, all that match the filters, or, without either, all that were uploaded from this machine. Exit code 12 if processing failed, 8 after --timeout.',
    )
    .argument('[id...]', idsHelp)
    .addOption(withSuggestions(new Option('--for <status>', 'status to wait for').default('ready'), suggestedStatuses))
    .option('--timeout <duration>', 'maximum time to wait', '30m');
  withFilters(described, collection)
    .option(...newestOption)
    .action(
      run(async (context, ids, { newest, for: status, timeout, ...flags }) => {
        const timeoutMs = parseDuration('--timeout', timeout);
        const filters = await parseFilters(context, flags);
        const byFilter = hasFilters(filters);
        if (byFilter) rejectWorkspaceFlag(context, 'wait');
        if (byFilter && ids.length > 0) throw usageError('ids and filters cannot be used together', 'use one of them');
        if (ids.length > 0 || byFilter)
          return runWait(context, { collection, ids, newest, filters, status, timeoutMs });
        if (status !== 'ready') throw usageError('--for needs ids or filters', 'mediactl wait ID --for STATUS');
        return waitForUploads(context, timeoutMs);
      }),
    );
}

type WaitRequest = GetRequest & { filters: AssetFilters; timeoutMs: number; status: string };

async function runWait(context: Context, request: WaitRequest) {
  const { collection, ids, filters, newest, timeoutMs, status } = request;
  const uids =
    ids.length > 0
      ? await resolveAssetUids(context, collection, ids, { newest })
      : await listUids(context, collection, filters);
  const settled = await waitWithDisplay(context, uids, {
    collection,
    timeoutMs,
    status,
    nameOf: ({ uid, name }) => asText(name) ?? uid,
  });
  const outcomes = [...settled.values()];
  const failures = outcomes.filter((outcome) => outcome instanceof MediactlError);
  const found = outcomes.filter((outcome): outcome is Asset => !(outcome instanceof MediactlError));
  const problem = `${failures.length} of ${outcomes.length} assets did not become ${status}`;
  return {
    result: await recordOrList(context, found, ids.length > 0 ? settled.size : 0),
    failure: combineFailures(outcomes.length, problem, failures),
  };
}

/** Returns the uids of all assets that match. @throws MediactlError `filter_ignored` (exit 6) */
async function listUids(context: Context, collection: Collection, filters: AssetFilters): Promise<string[]> {
  const { [collection]: assets } = await context.api();
  const uids: string[] = [];
  for await (const page of assets.list(filters, {})) {
    await assertFiltersApplied(assets, filters, page, 'wait');
    uids.push(...page.map(({ uid }) => uid));
  }
  return uids;
}
