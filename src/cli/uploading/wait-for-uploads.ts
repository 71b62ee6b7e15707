import { CodedError, combineFailures } from '../../client/errors.ts';
import { escapeControls } from '../../contract/sanitize.ts';
import type { Context } from '../context.ts';
import type { ErrorRecord } from '../error-hints.ts';
import { resolveWorkspaceUid } from '../library/workspaces.ts';
import { type Column, listBy } from '../output/result.ts';
import { waitWithDisplay } from '../progress/wait-display.ts';

type WaitRow = { asset_uid: string; path: string; asset_status: string; error: ErrorRecord | null };

/** Waits until the assets that this machine uploaded to the workspace are ready, and updates their receipts. */
export async function waitForUploads(context: Context, timeoutMs: number) {
  const workspace = await resolveWorkspaceUid(context);
  const { baseUrl } = await context.account();
  const receipts = await context.state.receiptsIfAny();
  if (!receipts) return listBy(() => '', [], waitColumns, nothingThere);
  const pending = await receipts.pending(baseUrl.origin, workspace);
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
  { field: 'asset_uid', value: ({ asset_uid }) => asset_uid, uid: 'asset' },
  { field: 'path', value: ({ path }) => escapeControls(path), minWidth: 18, isFirst: true },
  { field: 'asset_status', value: ({ asset_status }) => asset_status, noTruncate: true },
];
