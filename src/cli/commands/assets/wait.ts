import { type Command, Option } from '@commander-js/extra-typings';
import { CodedError, combineFailures, usageError } from '../../../client/errors.ts';
import { suggestedStatuses } from '../../../contract/asset-values.ts';
import { asText } from '../../../contract/json-values.ts';
import type { Collection } from '../../../contract/paths.ts';
import type { AssetRecord } from '../../../contract/types.ts';
import { type ActionWrapper, addExamples, withSuggestions } from '../../command.ts';
import type { Context } from '../../context.ts';
import { idsHelp, newestOption, select } from '../../library/asset-ids.ts';
import { waitWithDisplay } from '../../progress/wait-display.ts';
import { parseDuration } from '../../settings/units.ts';
import { waitForUploads } from '../../uploading/wait-for-uploads.ts';
import { recordOrList } from './columns.ts';
import type { GetRequest } from './get.ts';

export function wait(command: Command, run: ActionWrapper, collection: Collection): void {
  addExamples(
    command,
    `mediactl ${collection} wait @last --timeout 10m`,
    `mediactl ${collection} wait`,
    `mediactl ${collection} wait '/Inbox/*'`,
  )
    .description(
      'Waits until assets are ready: the given ones or, without ids, all that were uploaded from this machine. Exit code 12 if processing failed, 8 after --timeout.',
    )
    .argument('[id...]', idsHelp)
    .addOption(withSuggestions(new Option('--for <status>', 'status to wait for').default('ready'), suggestedStatuses))
    .option('--timeout <duration>', 'maximum time to wait', '30m')
    .option(...newestOption)
    .action(
      run(async (context, ids, { newest, for: status, timeout }) => {
        const timeoutMs = parseDuration('--timeout', timeout);
        if (ids.length > 0) return runWait(context, { collection, ids, newest, status, timeoutMs });
        if (status !== 'ready') throw usageError('--for needs ids', 'mediactl wait ID --for STATUS');
        return waitForUploads(context, timeoutMs);
      }),
    );
}

type WaitRequest = GetRequest & { timeoutMs: number; status: string };

async function runWait(context: Context, request: WaitRequest) {
  const { collection, ids, newest, timeoutMs, status } = request;
  const { assets } = await select(context, { collection, ids, purpose: 'read' }, { newest });
  const uids = assets.map(({ uid }) => uid);
  const settled = await waitWithDisplay(context, uids, {
    collection,
    timeoutMs,
    status,
    nameOf: ({ uid, name }) => asText(name) ?? uid,
  });
  const outcomes = [...settled.values()];
  const failures = outcomes.filter((outcome) => outcome instanceof CodedError);
  const found = outcomes.filter((outcome): outcome is AssetRecord => !(outcome instanceof CodedError));
  const problem = `${failures.length} of ${outcomes.length} assets did not become ${status}`;
  return {
    result: await recordOrList(context, found, settled.size),
    failure: combineFailures(outcomes.length, problem, failures),
  };
}
