import { classifyStatus, isAwaitingUpload } from '../../../contract/assumptions.ts';
import { asObject, asText } from '../../../contract/json-values.ts';

/** Processing status in the asset's record, if known. */
export type ProcessingStatus = {
  /** Status (A11). */
  status?: unknown;
  /** Failure reason: a string, or a record with a `message`. */
  reason?: unknown;
};

/** Explains by the asset's status why there is nothing to play; undefined without a status. */
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
