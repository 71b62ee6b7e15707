import { once } from 'node:events';
import { CodedError } from '../../../client/errors.ts';
import type { PickedAssets } from '../../../web/browse/server/backend.ts';
import type { Context } from '../../context.ts';
import { openPage, type PageRequest } from './page.ts';

/**
 * Shows the page until the user has selected assets there.
 *
 * @param purpose says what is done with them, for the line that the terminal shows while it waits
 * @throws CodedError `declined` (exit 130) if the user cancels
 */
export async function pickInPage(
  context: Context,
  request: PageRequest & { opens: boolean },
  purpose: string,
): Promise<PickedAssets> {
  const { terminal, signal } = context;
  let pick: (picked: PickedAssets | null) => void = () => {};
  const selected = new Promise<PickedAssets | null>((resolve) => {
    pick = resolve;
  });
  const page = await openPage(context, request, pick);
  try {
    // Stdout is for the result. The token of the URL is not a secret to hide from its user.
    terminal.stderr.write(`${page.createUrl()}\n`);
    terminal.info(`select assets in the page, then press "Use these" there, ${purpose}; Ctrl-C cancels`);
    const interrupted = signal.aborted ? undefined : once(signal, 'abort');
    const ended = Promise.race([selected, interrupted?.then(() => undefined)]);
    const [picked] = await Promise.all([ended, request.opens && !terminal.isCi && page.show()]);
    if (picked === null) throw new CodedError('nothing was picked', { code: 'declined' });
    signal.throwIfAborted();
    return picked as PickedAssets;
  } finally {
    await page.close();
  }
}
