import { isUnfinished, statusMeans } from '../../../contract/assumptions.ts';
import { fieldsIn, textIn } from '../../../contract/reading.ts';

/** Of the asset's record, where it is known. */
export type Progress = {
  /** A11. */
  status?: unknown;
  /** Why processing failed: a text, or a record with a `message`. */
  reason?: unknown;
};

/** Why there is nothing to play, where the asset's status tells. */
export function whyNotPlayed({ status, reason }: Progress): string | undefined {
  const said = textIn(status);
  if (!said) return undefined;
  if (isUnfinished(said)) return 'Its upload is not finished yet.';
  const means = statusMeans(said);
  if (means === 'in progress') return 'It is being processed; reload in a moment.';
  if (means === 'ready') return 'The service lets nobody play this here.';
  const why = textIn(reason) || textIn(fieldsIn(reason).message);
  return why ? `Processing failed: ${why}` : 'Processing failed.';
}
