import { classifyStatus, isAwaitingUpload } from '../../../contract/assumptions.ts';
import { asObject, asText } from '../../../contract/json-values.ts';

/** Processing status from the asset record, if known. */
export type ProcessingStatus = {
  /** Status (assumption A11). */
  status?: unknown;
  /** Failure reason: a string, or an object with a `message`. */
  reason?: unknown;
};

/** Returns the reason why an asset cannot be played, derived from its status; undefined without a status. */
export function unplayableReason({ status, reason }: ProcessingStatus): string | undefined {
  const statusText = asText(status);
  if (!statusText) return undefined;
  if (isAwaitingUpload(statusText)) return 'Its upload is not finished yet.';
  const statusGroup = classifyStatus(statusText);
  if (statusGroup === 'in progress') return 'It is being processed; reload in a moment.';
  if (statusGroup === 'ready') return 'The service lets nobody play this here.';
  const why = asText(reason) || asText(asObject(reason).message);
  return why ? `Processing failed: ${why}` : 'Processing failed.';
}
