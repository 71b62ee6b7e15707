import { type Command, Option } from '@commander-js/extra-typings';
import { waitForAssets } from '../../../client/api/wait-for-assets.ts';
import { combineFailures, MediactlError } from '../../../client/errors.ts';
import { toWaitingEvent } from '../../../client/upload/session/events.ts';
import { suggestedStatuses } from '../../../contract/asset-values.ts';
import { asText } from '../../../contract/json-values.ts';
import type { Collection } from '../../../contract/paths.ts';
import type { Asset } from '../../../contract/types.ts';
import { idHelp, newestOption, resolveAssetUids } from '../../library/asset-ids.ts';
import { WaitDisplay } from '../../progress/wait-display.ts';
import { parseDuration } from '../../settings/units.ts';
import { type ActionWrapper, addExamples, withSuggestions } from '../command.ts';
import { recordOrList } from './columns.ts';

export function wait(command: Command, run: ActionWrapper, collection: Collection): void {
  addExamples(command, `mediactl ${collection} wait @last --timeout 10m`);
  command
    .summary('wait until ready')
    .description(
      'Waits until an asset is ready. Exit code 12: its processing failed; 8: it took longer than --timeout.',
    )
    .argument('[id...]', `${idHelp}; - for stdin`)
    .addOption(withSuggestions(new Option('--for <status>', 'status to wait for').default('ready'), suggestedStatuses))
    .option('--timeout <duration>', 'how long at most', '30m')
    .option(...newestOption)
    .action(
      run(async (context, ids, options) => {
        const { clock, signal, terminal } = context;
        const timeoutMs = parseDuration('--timeout', options.timeout);
        const uids = await resolveAssetUids(context, collection, ids, options);
        const api = await context.api();
        const display = await WaitDisplay.open(terminal, clock, uids.length);
        const observed = api.withObserver({
          onNotice: (notice) => display.onWait(toWaitingEvent(notice)),
        });
        try {
          const settled = await waitForAssets(observed[collection], uids, {
            ...{ clock, signal, timeoutMs, status: options.for },
            onStatus: ({ uid, name }, status) => display.onStatus(asText(name) ?? uid, status),
            onResult: (_uid, outcome) => display.onSettled(!(outcome instanceof MediactlError)),
          });
          const { result, failure } = waitResult(settled, options.for);
          return { result: await recordOrList(context, result, settled.size), failure };
        } finally {
          display.close();
        }
      }),
    );
}

function waitResult(settled: Map<string, Asset | MediactlError>, status: string) {
  const outcomes = [...settled.values()];
  const failures = outcomes.filter((outcome) => outcome instanceof MediactlError);
  const result = outcomes.filter((outcome): outcome is Asset => !(outcome instanceof MediactlError));
  const problem = `${failures.length} of ${outcomes.length} assets did not become ${status}`;
  return { result, failure: combineFailures(outcomes.length, problem, failures) };
}
