import { usageError } from '../../../client/errors.ts';
import { parseQueueAddress, type QueueAddress } from '../../../client/queue/queue-address.ts';
import type { Context } from '../../context.ts';

export const queueFlag = '--queue [address]';
export const pausedWarning = 'the queue is paused; to resume it: mediactl uploads retry --all';
/** Difference between the clocks of a machine and a queue's store beyond which files are retried too early or too late. */
export const maxStoreSkewMs = 5_000;
/** Help text for --queue in commands that act on uploads of this machine by default. */
export const queueFlagHelp = 'use a queue instead of this machine';

/** Rejects a password in argv, which other users can read. @throws CodedError `usage` (exit 2) */
export function assertNoPassword(where: string, { hasPassword }: QueueAddress): void {
  if (!hasPassword) return;
  throw usageError(
    `${where} would show the password to other users of this machine`,
    'export MEDIACTL_QUEUE, or save it: mediactl config set queue - < FILE',
    'other users can read process arguments',
  );
}

/**
 * Returns the queue to use and the command's arguments. If the value of `--queue` is no address, as in `--queue
 * clip.mp4`, it becomes the first argument, and the configured queue is used.
 *
 * @param typed value of `--queue`, or true if it has none
 * @param given entered arguments; undefined if the command takes none
 * @throws CodedError `usage` (exit 2) if no queue is configured
 */
export function resolveQueue({ settings }: Context, typed: string | boolean | undefined, given?: readonly string[]) {
  const isAddress = typeof typed === 'string' && (!given || /^[a-z]+:\/\//i.test(typed));
  const all = [...(typeof typed === 'string' && !isAddress ? [typed] : []), ...(given ?? [])];
  const address = isAddress ? parseQueueAddress('--queue', typed) : settings.queue;
  if (!address)
    throw usageError(
      'no queue is configured',
      'mediactl config set queue redis://HOST, or export MEDIACTL_QUEUE=redis://HOST',
    );
  if (isAddress) assertNoPassword('--queue', address);
  return { address, given: all };
}
