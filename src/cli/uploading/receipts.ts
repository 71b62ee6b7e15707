import { asCodedError } from '../../client/errors.ts';
import type { Receipts } from '../../client/upload/store/receipts.ts';
import type { Context } from '../context.ts';

/**
 * Opens this machine's receipts for writing. With `force`, a damaged or missing database is replaced, and if nothing
 * can be written, the database is in memory and ends with this process.
 *
 * @throws CodedError `state_…` (exit 14) if the receipts cannot be used
 */
export async function openReceipts(context: Context, force: boolean): Promise<Receipts> {
  try {
    return await context.state.receipts(force ? 'recreate' : 'write');
  } catch (thrown) {
    const error = asCodedError(thrown);
    if (!force || error.kind !== 'state') throw thrown;
    context.terminal.warn(
      `${error.message} (${error.explanation.reason}): this upload cannot be resumed, and another run may upload it again`,
    );
    context.state.useMemory();
    return context.state.receipts();
  }
}

/** Returns this machine's receipts for a preview, or undefined if there are none. With `force`, also if they are damaged. */
export async function findReceipts({ state }: Context, force: boolean): Promise<Receipts | undefined> {
  return state.receiptsIfAny().catch((thrown) => {
    if (!force || asCodedError(thrown).kind !== 'state') throw thrown;
    state.useMemory(); // as the run, which begins a new record
    return state.receipts();
  });
}
