import { exitCodes, MediactlError } from '../errors.ts';

const statusOf = (error: unknown) =>
  error instanceof MediactlError ? error.explanation.status : undefined;

/** The service no longer knows the session: 404, or 410. */
export const isSessionGone = (error: unknown) => statusOf(error) === 404 || statusOf(error) === 410;

/** The creation was answered, with a location that is not gone to. */
export const isForeign = (error: unknown) =>
  error instanceof MediactlError && error.explanation.code === 'foreign_origin';

/** Said with --on-expired fail, and why an upload starts anew without it. */
export const expired = (assetUid: string, underlying?: unknown) =>
  new MediactlError(`the upload session is gone; asset ${assetUid} stays unfinished`, {
    code: 'session_expired',
    exitCode: exitCodes.notFound,
    reason: 'upload sessions expire after 24 hours',
    hint: 'run the same command without --on-expired fail to start anew',
    details: { asset_uid: assetUid },
    underlying,
  });
