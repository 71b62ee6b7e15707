import { isUnfinished, statusMeans } from '../../../contract/assumptions.ts';
import { waitForAssets } from '../../api/wait-for-assets.ts';
import { exitCodes, MediactlError } from '../../errors.ts';
import type { Open } from '../store/journal-entry.ts';
import type { UploadRun } from './upload-run.ts';

const statusOf = (error: unknown) =>
  error instanceof MediactlError ? error.explanation.status : undefined;

/** The service does not know it: 404, or 410. */
export const isSessionGone = (error: unknown) => statusOf(error) === 404 || statusOf(error) === 410;

/** A transfer that ended because the service does not know the session, and how far it was. */
export class SessionGone extends Error {
  readonly underlying: MediactlError;
  /** The session answered before, in this run. */
  readonly wasThere: boolean;
  /** Every byte of the file may have arrived: no answer says that the last ones did not. */
  readonly isAllSent: boolean;

  constructor(underlying: unknown, wasThere: boolean, isAllSent: boolean) {
    super('the upload session is gone');
    this.underlying = underlying as MediactlError;
    this.wasThere = wasThere;
    this.isAllSent = isAllSent;
  }
}

/**
 * What the asset of a session that is gone holds, as the service tells it: the file, not all of it,
 * nothing since it is gone itself, or nobody can tell.
 */
export type AssetState = 'whole' | 'unfinished' | 'gone' | 'unknown';

/** How long an asset is waited for that may hold the whole file, and is being processed. */
const patienceMs = 120_000;

/** @param isAllSent as in SessionGone: what lacks bytes is unfinished, whatever its status is called */
export async function assetState(
  run: UploadRun,
  { session, offset, file }: Open,
  isAllSent: boolean,
): Promise<AssetState> {
  const { assets, transport } = run.tools.api;
  const { assetUid } = session;
  let status: unknown;
  try {
    status = (await assets.get(assetUid)).status;
  } catch (error) {
    if (isSessionGone(error)) return 'gone';
    // The key may write and not read: nothing is known of the asset.
    if (statusOf(error) !== 403) throw error;
    return isAllSent ? 'unknown' : 'unfinished';
  }
  if (!isAllSent || isUnfinished(status)) return 'unfinished';
  if (offset === file.sizeBytes || statusMeans(status) === 'ready') return 'whole';
  // Some services call an asset queued before its first byte: only what becomes ready has them all.
  run.notice(`the upload session is gone; waiting until asset ${assetUid} is ready`);
  const settled = await waitForAssets(assets, [assetUid], {
    ...{ clock: transport.clock, timeoutMs: patienceMs, signal: run.tools.signal },
  });
  return settled.get(assetUid) instanceof MediactlError ? 'unknown' : 'whole';
}

const gone = (
  { session }: Open,
  code: string,
  explanation: { reason: string; hint: string; underlying: unknown },
) =>
  new MediactlError(`the upload session of asset ${session.assetUid} is gone`, {
    code,
    exitCode: exitCodes.notFound,
    details: { asset_uid: session.assetUid },
    ...explanation,
  });

/** Said with --on-expired fail. */
export const expired = (entry: Open, underlying: unknown) =>
  gone(entry, 'session_expired', {
    reason: 'upload sessions end 24 hours after they began; the asset stays unfinished',
    hint: 'run the same command without --on-expired fail to start again',
    underlying,
  });

/** The service does not know a session that it has just made: starting anew would make asset after asset. */
export const refusedSession = (entry: Open, underlying: unknown) =>
  gone(entry, 'session_refused', {
    reason: 'the service made it, and did not know it the first time it was used',
    hint: 'check the base URL and any proxy on the way; --yes makes a new asset and leaves that one',
    underlying,
  });

/** Errors that `--yes` answers: whoever says so gets a new asset. */
export const asksForNewAsset = ({ explanation }: MediactlError): boolean =>
  ['creation_unknown', 'session_refused', 'session_unknown'].includes(explanation.code);

/** The asset may hold the whole file, and nobody can tell. */
export const maybeWhole = (entry: Open, underlying: unknown) =>
  gone(entry, 'session_unknown', {
    reason: 'the last answer was lost, and the asset does not tell whether it has the whole file',
    hint: `mediactl assets get ${entry.session.assetUid}; --yes starts again and leaves that asset`,
    underlying,
  });
