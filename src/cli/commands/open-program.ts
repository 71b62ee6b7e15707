import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { MediactlError, usageError } from '../../client/errors.ts';
import { withoutSecrets } from '../../client/processes.ts';
import { TimeoutError, withTimeout } from '../../contract/retry.ts';
import type { Context } from '../context.ts';

/** Maps each player to the arguments that start it at a position. Other players start at 0. */
const startPositionArgs: Record<string, (seconds: number) => string[]> = {
  mpv: (seconds) => [`--start=${seconds}`],
  vlc: (seconds) => [`--start-time=${seconds}`],
  iina: (seconds) => [`--mpv-start=${seconds}`],
  ffplay: (seconds) => ['-ss', String(seconds)],
};

/** Runs a player until it exits. Passes the URL as a separate argument, which no shell parses. */
export async function openWithPlayer(
  { host, terminal, signal }: Context,
  command: string,
  url: URL,
  resumeSeconds: number,
): Promise<void> {
  const [program = '', ...commandArgs] = command.split(/\s+/).filter(Boolean);
  if (program === '') throw usageError('--player does not accept an empty command', '--player mpv');
  const name = program.replace(/^.*[/\\]/, '');
  const begin = resumeSeconds > 0 ? (startPositionArgs[name]?.(resumeSeconds) ?? []) : [];
  const child = spawn(program, [...commandArgs, ...begin, url.href], {
    env: withoutSecrets(host.environment),
    // stdout is for our results, so the player prints to stderr.
    stdio: ['ignore', terminal.stderr.isTTY ? 2 : 'ignore', terminal.stderr.isTTY ? 2 : 'ignore'],
  });
  const stop = () => child.kill('SIGTERM');
  signal.addEventListener('abort', stop, { once: true });
  try {
    const [code] = await once(child, 'exit');
    if (code !== 0 && !signal.aborted)
      throw new MediactlError(`${program} cannot play it`, { code: 'player_failed', reason: `exit code ${code}` });
    signal.throwIfAborted();
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (!['ENOENT', 'EACCES'].includes(code)) throw error;
    throw usageError(`no player ${program}`, 'install it, or use --open or --web');
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** Maximum time for an opener to fail: it may try several programs. One that still runs then has opened the URL. */
const openerTimeoutMs = 4_000;

/** Opens a URL with the desktop's default program. Returns false if the program failed to start. */
export async function openWithDefault({ clock, signal, terminal }: Context, target: URL): Promise<boolean> {
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
  if (failure) terminal.warn(`no program can open it (${failure}); its URL:`);
  return failure === undefined;
}
