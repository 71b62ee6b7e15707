import { type Command, Option } from '@commander-js/extra-typings';
import { CodedError, combineFailures, usageError } from '../../../client/errors.ts';
import type { Lane } from '../../../client/http/rate-limiter.ts';
import { type WaitOptions, waitForAssets } from '../../../client/library/wait-for-assets.ts';
import { toWaitingEvent } from '../../../client/upload/session/events.ts';
import { suggestedStatuses } from '../../../contract/asset-values.ts';
import type { Collection } from '../../../contract/paths.ts';
import type { AssetRecord } from '../../../contract/types.ts';
import { isSameUid } from '../../../contract/uid.ts';
import { describeScope, pluralize } from '../../../shared/figures.ts';
import { asText } from '../../../shared/json-values.ts';
import { type ActionWrapper, addExamples, withSuggestions } from '../../command.ts';
import type { Context } from '../../context.ts';
import type { ErrorRecord } from '../../error-hints.ts';
import { idsHelp, newestOption, select } from '../../library/asset-ids.ts';
import { type Column, listBy } from '../../output/result.ts';
import { createProgress } from '../../progress/progress.ts';
import { parseDuration } from '../../settings/units.ts';
import { timeoutOption } from '../../uploading/upload-options.ts';
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
    .option(...timeoutOption)
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

type WaitRow = { asset_uid: string; path: string; asset_status: string; error: ErrorRecord | null };

/**
 * Waits until the assets that this machine uploaded to the workspace in use are ready, and updates their receipts. Where no
 * workspace is known to be in use, to all of them.
 */
export async function waitForUploads(context: Context, timeoutMs: number) {
  const { baseUrl } = await context.account();
  const receipts = await context.state.receiptsIfAny();
  if (!receipts) return listBy(() => '', [], waitColumns, nothingThere);
  const all = await receipts.pending(baseUrl.origin);
  const workspace = await (await context.library()).workspaceInUse.uidIfKnown('free');
  const pending = all.filter((each) => workspace === undefined || isSameUid(each.workspace, workspace));
  const scope = describeScope({ isAll: workspace === undefined, leftOut: all.length - pending.length });
  if (scope !== undefined && all.length > 0) context.terminal.info(scope);
  const paths = new Map(pending.map(({ assetUid, realPath }) => [assetUid, realPath]));
  const waited: WaitRow[] = [];
  const failures: CodedError[] = [];
  const recorded: Promise<void>[] = [];
  let receiptError: CodedError | undefined;
  await waitWithDisplay(context, [...paths.keys()], {
    collection: 'assets',
    lane: 'bulk',
    timeoutMs,
    nameOf: ({ uid }) => paths.get(uid) ?? uid,
    onResult: (uid, found) => {
      const path = paths.get(uid) ?? '';
      const error = found instanceof CodedError ? found : undefined;
      recorded.push(
        receipts.saveProcessingResult(uid, found).catch((thrown) => {
          receiptError ??= thrown;
        }),
      );
      if (error) failures.push(error.withSubject(path));
      const failedStatus = error?.explanation.code === 'processing_failed' ? 'failed' : 'unknown';
      waited.push({
        asset_uid: uid,
        path,
        asset_status: error ? failedStatus : 'ready',
        error: context.terminal.redactor.errorRecord(error),
      });
    },
  });
  await Promise.all(recorded);
  const problem = `${failures.length} of ${waited.length} assets are not ready`;
  return {
    result: listBy(({ asset_uid }) => asset_uid, waited, waitColumns, nothingThere),
    failure: receiptError ?? combineFailures(waited.length, problem, failures),
  };
}

const nothingThere = 'nothing to wait for';

const waitColumns: Column<WaitRow>[] = [
  { field: 'asset_uid', uid: 'asset' },
  { field: 'path', minWidth: 18, isFirst: true },
  { field: 'asset_status', noTruncate: true },
];

type DisplayedWait = Pick<WaitOptions, 'timeoutMs' | 'status' | 'onResult'> & {
  collection: Collection;
  lane?: Lane;
  nameOf(asset: AssetRecord): string;
};

/** Calls `waitForAssets`, and shows on stderr how many are ready, or each change of the status of a single asset. */
async function waitWithDisplay(
  context: Context,
  uids: readonly string[],
  { collection, lane = 'interactive', nameOf, onResult, ...options }: DisplayedWait,
) {
  const { terminal, clock, signal } = context;
  const progress = await createProgress(context);
  const count = uids.length;
  let [ready, failed] = [0, 0];
  const showCount = () => {
    const text =
      count === 1 ? 'waiting for the asset' : `${ready} of ${count} ready${failed > 0 ? `, ${failed} failed` : ''}`;
    progress.show({ event: 'awaited', text });
  };
  if (count > 1 && !terminal.canAnimate) terminal.info(`waiting for ${pluralize(count, 'asset')}`);
  if (count > 0) showCount();
  const api = (await context.api()).withObserver({
    lane,
    onNotice: (notice) => progress.show({ ...toWaitingEvent(notice), path: '' }),
  });
  try {
    return await waitForAssets(api[collection], uids, {
      ...options,
      clock,
      signal,
      onStatus: (asset, status) => {
        if (count === 1) progress.show({ event: 'status', path: nameOf(asset), asset_uid: asset.uid, status });
      },
      onResult: (uid, outcome) => {
        onResult?.(uid, outcome);
        if (outcome instanceof CodedError) failed++;
        else ready++;
        if (count > 1) showCount();
      },
    });
  } finally {
    progress.close();
  }
}
