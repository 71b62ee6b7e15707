import { once } from 'node:events';
import { TimeoutError, withTimeout } from '../../shared/retry.ts';
import type { Context } from '../context.ts';

/** Maximum time for an opener to fail: it may try several programs. One that still runs then has opened the URL. */
const openerTimeoutMs = 4_000;

/** Opens a URL with the desktop's default program. Warns if the program failed to start. */
export async function openWithDefault({ clock, signal, terminal }: Context, target: URL): Promise<void> {
  const { default: open } = await import('open');
  const child = await open(target.href);
  const exited = once(child, 'exit').then(
    ([code]): string | undefined => (code ? `exit code ${code}` : undefined),
    (error: Error) => error.message,
  );
  const failure = await withTimeout(openerTimeoutMs, () => exited, { clock, signal }).catch((error) => {
    if (error instanceof TimeoutError) return undefined;
    throw error;
  });
  if (failure) terminal.warn(`no program can open it (${failure}); open it yourself`);
}
