import { CodedError } from '../../client/errors.ts';
import type { Lane } from '../../client/http/rate-limiter.ts';
import { type WaitOptions, waitForAssets } from '../../client/library/wait-for-assets.ts';
import { toWaitingEvent } from '../../client/upload/session/events.ts';
import { pluralize } from '../../contract/figures.ts';
import type { Collection } from '../../contract/paths.ts';
import { escapeControls } from '../../contract/sanitize.ts';
import type { AssetRecord } from '../../contract/types.ts';
import type { Context } from '../context.ts';
import { describeWait, RunStats } from './run-stats.ts';

type DisplayedWait = Pick<WaitOptions, 'timeoutMs' | 'status' | 'onResult'> & {
  collection: Collection;
  lane?: Lane;
  nameOf(asset: AssetRecord): string;
};

/** Calls `waitForAssets`, and shows on stderr how many are ready, or each change of the status of a single asset. */
export async function waitWithDisplay(
  context: Context,
  uids: readonly string[],
  { collection, lane = 'interactive', nameOf, onResult, ...options }: DisplayedWait,
) {
  const { terminal, clock, signal } = context;
  const stats = new RunStats(clock);
  const startedAt = clock.now();
  const count = uids.length;
  let [ready, failed] = [0, 0];
  let only = { name: '', status: '' };
  const text = () => {
    if (count === 1) return only.status ? `${only.name}: ${only.status}` : 'waiting for the asset';
    return `${ready} of ${count} ready${failed > 0 ? `, ${failed} failed` : ''}`;
  };
  const lines = () => [
    { kind: 'working', text: text(), seconds: (clock.now() - startedAt) / 1000 } as const,
    ...stats.statusLines(),
  ];
  const isLive = count > 0 && terminal.canAnimate;
  const display = isLive ? new (await import('./live-display.lazy.ts')).LiveDisplay(terminal, lines) : undefined;
  if (!display && count > 1) terminal.info(`waiting for ${pluralize(count, 'asset')}`);
  const api = (await context.api()).withObserver({
    lane,
    onNotice: (notice) => {
      const event = toWaitingEvent(notice);
      stats.apply({ ...event, path: '' });
      if (event.event === 'waiting' && !display) terminal.warn(describeWait(event, clock.now()));
    },
  });
  try {
    return await waitForAssets(api[collection], uids, {
      ...options,
      clock,
      signal,
      onStatus: (asset, found) => {
        const status = escapeControls(found);
        if (count !== 1 || only.status === status) return;
        only = { name: escapeControls(nameOf(asset)), status };
        if (!display) terminal.info(`${only.name}: ${status}`);
      },
      onResult: (uid, outcome) => {
        onResult?.(uid, outcome);
        if (outcome instanceof CodedError) failed++;
        else ready++;
      },
    });
  } finally {
    display?.close();
  }
}
