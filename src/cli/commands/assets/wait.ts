import { type Command, Option } from '@commander-js/extra-typings';
import { combineFailures, MediactlError } from '../../../client/errors.ts';
import { suggestedStatuses } from '../../../contract/asset-values.ts';
import { asText } from '../../../contract/json-values.ts';
import type { Collection } from '../../../contract/paths.ts';
import type { Asset } from '../../../contract/types.ts';
import type { Context } from '../../context.ts';
import { idHelp, newestOption, resolveAssetUids } from '../../library/asset-ids.ts';
import { waitWithDisplay } from '../../progress/wait-display.ts';
import { parseDuration } from '../../settings/units.ts';
import { type ActionWrapper, addExamples, withSuggestions } from '../command.ts';
import { recordOrList } from './columns.ts';
import type { GetRequest } from './get.ts';

export function wait(command: Command, run: ActionWrapper, collection: Collection): void {
  addExamples(command, `mediactl ${collection} wait @last --timeout 10m`)
    .description(
      'Waits until an asset is ready. Exit code 12: its processing failed; 8: it took longer than --timeout.',
    )
    .argument('[id...]', `${idHelp}; - for stdin`)
    .addOption(withSuggestions(new Option('--for <status>', 'status to wait for').default('ready'), suggestedStatuses))
    .option('--timeout <duration>', 'how long at most', '30m')
    .option(...newestOption)
    .action(
      run((context, ids, { newest, for: status, timeout }) => {
        const timeoutMs = parseDuration('--timeout', timeout);
        return runWait(context, { collection, ids, newest, status, timeoutMs });
      }),
    );
}

type WaitRequest = GetRequest & { timeoutMs: number; status: string };

async function runWait(context: Context, { collection, ids, newest, timeoutMs, status }: WaitRequest) {
  const settled = await waitWithDisplay(context, await resolveAssetUids(context, collection, ids, { newest }), {
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
    result: await recordOrList(context, found, settled.size),
    failure: combineFailures(outcomes.length, problem, failures),
  };
}
