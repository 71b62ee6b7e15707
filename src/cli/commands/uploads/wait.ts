import type { Command } from '@commander-js/extra-typings';
import { waitForAssets } from '../../../client/api/wait-for-assets.ts';
import { combineFailures, MediactlError } from '../../../client/errors.ts';
import { toWaitingEvent } from '../../../client/upload/session/events.ts';
import { escapeControls } from '../../../contract/sanitize.ts';
import { resolveWorkspaceUid } from '../../library/workspaces.ts';
import { type Column, listBy } from '../../output/result.ts';
import { WaitDisplay } from '../../progress/wait-display.ts';
import { parseDuration } from '../../settings/units.ts';
import { type ActionWrapper, addExamples } from '../command.ts';

type WaitRow = { asset_uid: string; path: string; status: string; error: string | null };

export function wait(command: Command, run: ActionWrapper): void {
  addExamples(command, 'mediactl uploads wait', 'mediactl uploads wait --timeout 2h --jsonl');
  command
    .summary('wait until what was uploaded is ready')
    .description(
      'Waits until the assets that this machine has sent to the workspace are ready: those that no command has seen ready yet.',
    )
    .option('--timeout <duration>', 'how long to wait at most', '30m')
    .action(
      run(async (context, { timeout }) => {
        const timeoutMs = parseDuration('--timeout', timeout);
        const workspace = await resolveWorkspaceUid(context);
        const api = await context.api();
        const receipts = await context.receiptsIfAny();
        if (!receipts) return listBy(() => '', [], columns, nothingThere);
        const pending = receipts.pending(api.transport.baseUrl.origin, workspace);
        const paths = new Map(pending.map(({ assetUid, path }) => [assetUid, path]));
        const waited: WaitRow[] = [];
        const failures: MediactlError[] = [];
        const noted: Promise<void>[] = [];
        let receiptError: MediactlError | undefined;
        const display = await WaitDisplay.open(context.terminal, context.clock, paths.size);
        const observed = api.withObserver({
          lane: 'bulk',
          onNotice: (notice) => display.onWait(toWaitingEvent(notice)),
        });
        try {
          await waitForAssets(observed.assets, [...paths.keys()], {
            clock: context.clock,
            signal: context.signal,
            timeoutMs,
            onStatus: ({ uid }, status) => display.onStatus(paths.get(uid) ?? uid, status),
            onResult: (uid, found) => {
              const path = paths.get(uid) ?? '';
              const error = found instanceof MediactlError ? found : undefined;
              noted.push(
                receipts.saveProcessingResult(uid, found).catch((error) => {
                  receiptError ??= error;
                }),
              );
              if (error) failures.push(error.withSubject(path));
              const isFailed = error?.explanation.code === 'processing_failed';
              const status = isFailed ? 'failed' : error ? 'unknown' : 'ready';
              waited.push({ asset_uid: uid, path, status, error: error?.message ?? null });
              display.onSettled(!error);
            },
          });
        } finally {
          display.close();
        }
        await Promise.all(noted);
        const result = listBy(({ asset_uid }) => asset_uid, waited, columns, nothingThere);
        const problem = `${failures.length} of ${waited.length} assets are not ready`;
        return {
          result,
          failure: receiptError ?? combineFailures(waited.length, problem, failures),
        };
      }),
    );
}

const nothingThere = 'nothing to wait for';

const columns: Column<WaitRow>[] = [
  { header: 'ASSET', value: ({ asset_uid }) => asset_uid, uid: 'asset' },
  { header: 'PATH', value: ({ path }) => escapeControls(path), minWidth: 18, isFirst: true },
  { header: 'STATUS', value: ({ status }) => status, noTruncate: true },
];
