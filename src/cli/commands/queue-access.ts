import { usageError } from '../../client/errors.ts';
import { parseQueueAddress, type QueueAddress } from '../../queue/queue-address.ts';
import type { QueueClient, QueueClientDeps } from '../../queue/queue-client.ts';
import { pluralize } from '../../shared/figures.ts';
import { escapeControls, quoteForShell } from '../../shared/sanitize.ts';
import type { Context } from '../context.ts';
import { hintOf } from '../error-hints.ts';
import { assertNoPassword } from '../settings/setting-kinds.ts';

export const queueOption = ['--queue <address>', 'queue: redis:// or rediss:// (MEDIACTL_QUEUE)'] as const;

/**
 * Returns the queue to use: that of `--queue`, or else that of the settings.
 *
 * @param typed value of `--queue`
 * @throws CodedError `usage` (exit 2) if it is no address or has a password, or if no queue is configured
 */
export function resolveQueue({ settings }: Context, typed: string | undefined): QueueAddress {
  const address = typed === undefined ? settings.queue : parseQueueAddress('--queue', typed);
  if (!address)
    throw usageError(
      'no queue is configured',
      'mediactl config set queue redis://HOST, or export MEDIACTL_QUEUE=redis://HOST',
    );
  if (typed !== undefined) assertNoPassword('--queue', address);
  return address;
}

/** Returns the line of a command of `queue`, for messages. It names the queue if that is not the one of the settings. */
export function queueCommand({ settings }: Context, { label }: QueueAddress, command: string): string {
  const isDefault = settings.queue?.label === label;
  return `mediactl queue ${command}${isDefault ? '' : ` --queue ${quoteForShell(label)}`}`;
}

/**
 * Opens a queue until the context is closed. If `use` is `work`, retries until the queue's store is reachable.
 *
 * @throws the same errors as `openQueueClient`
 */
export async function openQueue(
  context: Context,
  address: QueueAddress,
  use: QueueClientDeps['use'],
): Promise<QueueClient> {
  const { openQueueClient, openQueueClientWithRetry } = await import('../../queue/open-queue-client.ts');
  const { classifyOpenError, isRejectedWrite } = await import('../../queue/store-errors.ts');
  const { clock, signal, terminal } = context;
  let wasDisconnected = false;
  const onConnectionChange = (cause?: unknown) => {
    const isDisconnected = cause !== undefined;
    if (isDisconnected === wasDisconnected || signal.aborted) return;
    wasDisconnected = isDisconnected;
    if (!isDisconnected) return terminal.info(`reconnected to queue ${address.label}`);
    const outage = classifyOpenError(address, cause);
    const hint = isRejectedWrite(cause) ? `: ${hintOf(outage)}` : '';
    terminal.warn(escapeControls(`${outage.message}; retrying (${outage.explanation.reason})${hint}`));
  };
  const client = await (use === 'work' ? openQueueClientWithRetry : openQueueClient)(address, {
    clock,
    signal,
    onConnectionChange,
    onEngineError: (message) => terminal.warn(escapeControls(message)),
    use,
  });
  context.closeAtEnd(client);
  return client;
}

/**
 * Warns if a queue is paused, or if no connected worker takes its files.
 *
 * @param newRoots roots of the files that are about to be queued
 * @returns the state of the queue
 */
export async function warnOfQueueState(context: Context, client: QueueClient, newRoots?: readonly string[]) {
  const { pauseReason, queueStatus, workerNames } = await import('../../queue/queue-status.ts');
  const status = await client.withRetry(() => queueStatus(client));
  const { isPaused, unfinished, workers, unserved } = status;
  const warn = (problem: string, remedy: string, command: string) => {
    const next = queueCommand(context, client.address, command);
    context.terminal.warn(`${escapeControls(problem)}; ${remedy}: ${escapeControls(next)}`);
  };
  if (isPaused) warn(`the queue is paused: ${await pauseReason(client)}`, 'to resume it', 'retry --all');
  if (workers?.length === 0) {
    const problem = 'no worker takes files: none is running, or each is paused, as its log says';
    if (newRoots || unfinished > 0) warn(problem, 'to start one on a machine that can read the files', 'work');
    return status;
  }
  const without = new Map<string, number>(unserved);
  for (const root of newRoots ?? [])
    if (!without.has(root) && (await workerNames(await client.queueOf(root)))?.length === 0) without.set(root, 0);
  for (const [root, count] of without) {
    const files = count > 0 ? ` of ${pluralize(count, 'waiting file')}` : '';
    warn(`no connected worker has the root ${root}${files}`, 'start one', `work --root ${root}=DIRECTORY`);
  }
  return status;
}
