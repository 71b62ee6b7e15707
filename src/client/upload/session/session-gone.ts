import { classifyStatus, isAwaitingUpload } from '../../../contract/assumptions.ts';
import { waitForAssets } from '../../api/wait-for-assets.ts';
import type { ErrorCode } from '../../error-table.ts';
import { MediactlError } from '../../errors.ts';
import type { OpenEntry } from '../store/journal-entry.ts';
import type { UploadRun } from './upload-run.ts';

const statusOf = (error: unknown) => (error instanceof MediactlError ? error.explanation.status : undefined);

/** Returns true for a 404 or 410 response, which means that the session or asset does not exist. */
export const isGone = (error: unknown) => statusOf(error) === 404 || statusOf(error) === 410;

/** Error for a transfer whose session the service does not know. Includes the progress until then. */
export class SessionGoneError extends Error {
  readonly underlying: MediactlError;
  /** True if the session responded earlier in this run. */
  readonly hasResponded: boolean;
  /** True if every byte of the file might have arrived, since no response proves the contrary. */
  readonly isAllSent: boolean;

  constructor(underlying: unknown, hasResponded: boolean, isAllSent: boolean) {
    super('the upload session is gone');
    this.underlying = underlying as MediactlError;
    this.hasResponded = hasResponded;
    this.isAllSent = isAllSent;
  }
}

/** Completeness of an asset whose session is gone. `gone` means that the asset does not exist either. */
export type AssetCompleteness = 'complete' | 'unfinished' | 'gone' | 'unknown';

/** Maximum wait until an asset that might hold the complete file is processed. */
const maxReadyWaitMs = 120_000;

/**
 * Checks whether the asset of a lost session holds the complete file.
 *
 * @param isAllSent false if bytes are certainly missing, so that the asset is unfinished whatever its status
 */
export async function checkCompleteness(
  run: UploadRun,
  { session, offset, file }: OpenEntry,
  isAllSent: boolean,
): Promise<AssetCompleteness> {
  const { assets, transport } = run.deps.api;
  const { assetUid } = session;
  let status: unknown;
  try {
    status = (await assets.get(assetUid)).status;
  } catch (error) {
    if (isGone(error)) return 'gone';
    // 403: the API key can write but not read, so the asset's state is unknown.
    if (statusOf(error) !== 403) throw error;
    return isAllSent ? 'unknown' : 'unfinished';
  }
  if (!isAllSent || isAwaitingUpload(status)) return 'unfinished';
  if (offset === file.sizeBytes || classifyStatus(status) === 'ready') return 'complete';
  // Some services report `queued` before the first byte arrives, so only a ready asset counts as complete.
  run.notice(`the upload session is gone; waiting until asset ${assetUid} is ready`);
  const settled = await waitForAssets(assets, [assetUid], {
    ...{ clock: transport.clock, timeoutMs: maxReadyWaitMs, signal: run.deps.signal },
  });
  return settled.get(assetUid) instanceof MediactlError ? 'unknown' : 'complete';
}

const sessionGoneError = (
  { session }: OpenEntry,
  code: ErrorCode,
  explanation: { reason: string; hint: string; underlying: unknown },
) =>
  new MediactlError(`the upload session of asset ${session.assetUid} is gone`, {
    code,
    details: { asset_uid: session.assetUid },
    ...explanation,
  });

/** Returns the error for an expired session with `--on-expired fail`. */
export const sessionExpired = (entry: OpenEntry, underlying: unknown) =>
  sessionGoneError(entry, 'session_expired', {
    reason: 'upload sessions end 24 hours after they began; the asset stays unfinished',
    hint: 'run the same command without --on-expired fail to start again',
    underlying,
  });

/** Returns the error for a session that the service forgot right after creation. Retries would pile up assets. */
export const sessionRefused = (entry: OpenEntry, underlying: unknown) =>
  sessionGoneError(entry, 'session_refused', {
    reason: 'the service made it, and did not know it the first time it was used',
    hint: 'check the base URL and any proxy on the way; --yes makes a new asset and leaves that one',
    underlying,
  });

/** Returns true for errors that `--yes` resolves by creating a new asset. */
export const isResolvedByNewAsset = ({ explanation }: MediactlError): boolean =>
  ['creation_unknown', 'session_refused', 'session_unknown'].includes(explanation.code);

/**
 * Creates the error for an upload session that no longer exists on the service, when its asset does not show
 * whether it has the complete file.
 */
export const sessionUnknown = (entry: OpenEntry, underlying: unknown) =>
  sessionGoneError(entry, 'session_unknown', {
    reason: 'the last answer was lost, and the asset does not tell whether it has the whole file',
    hint: `mediactl assets get ${entry.session.assetUid}; --yes starts again and leaves that asset`,
    underlying,
  });
