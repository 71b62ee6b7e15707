import { isUnfinished, statusMeans } from '../../../contract/assumptions.ts';
import { fieldsIn, textIn } from '../../../contract/reading.ts';

/** Processing status in the asset's record, if known. */
export type ProcessingStatus = {
  /** Status (A11). */
  status?: unknown;
  /** Failure reason: a string, or a record with a `message`. */
  reason?: unknown;
};

/** Explains by the asset's status why there is nothing to play; undefined without a status. */
export function unplayableReason({ status, reason }: ProcessingStatus): string | undefined {
  const statusText = textIn(status);
  if (!statusText) return undefined;
  if (isUnfinished(statusText)) return 'Its upload is not finished yet.';
  const statusGroup = statusMeans(statusText);
  if (statusGroup === 'in progress') return 'It is being processed; reload in a moment.';
  if (statusGroup === 'ready') return 'The service lets nobody play this here.';
  const why = textIn(reason) || textIn(fieldsIn(reason).message);
  return why ? `Processing failed: ${why}` : 'Processing failed.';
}
