import type { Clock } from '../clock.ts';
import { exitCodes, MediactlError } from '../errors.ts';
import type { QueueAddress } from '../settings/queue-address.ts';
import { atMost } from './patience.ts';

/* What both stores need to be opened and closed. */

export const connectMs = 10_000;
export const closeMs = 3_000;

/** What the engine keeps open. */
export type Opened = { close(): Promise<void>; disconnect(): Promise<void> };

/** A store that is away does not keep the process. */
export async function ended(opened: readonly Opened[], clock: Clock): Promise<void> {
  const closed = Promise.all(opened.map((each) => each.close().catch(() => {})));
  await atMost(closeMs, clock, closed);
  for (const each of opened) each.disconnect().catch(() => {}); // of a line that is dead already
}

/** An engine that loses its line says so to whoever listens, and ends the process where nobody does. */
export function quiet<T extends { on(event: 'error', hear: () => void): unknown }>(emitter: T): T {
  emitter.on('error', () => {});
  return emitter;
}

export function kept<T extends Opened>(one: T, all: Opened[]): T {
  all.push(one);
  return one;
}

/** What a store says that does not let one in: Redis, then SQLSTATE 28 and 42501 (PostgreSQL). */
const isRefusal = (message: string, code: string) =>
  /^(?:NOAUTH|WRONGPASS|NOPERM)\b/.test(message) || /^(?:28|42501)/.test(code);

/** SQLSTATE of a server that is there: no such database, too old. */
const isAnswer = (code: string) => /^[0-9A-Z]{5}$/.test(code) && !/^(?:08|57|E)/.test(code);

/** What cannot be opened, in words. */
export function unreachable({ label, store }: QueueAddress, error: unknown): MediactlError {
  const { message, code = '' } = error as { message: string; code?: string };
  if (isRefusal(message, code))
    return new MediactlError(`${label} does not let mediactl in`, {
      code: 'queue_refused',
      exitCode: exitCodes.unauthenticated,
      reason: message,
      hint:
        store === 'redis'
          ? 'user and password stand in MEDIACTL_QUEUE, or in the profile'
          : 'user and password stand in MEDIACTL_QUEUE, or in the profile; the first to come makes schemas',
      underlying: error,
    });
  if (isAnswer(code))
    return new MediactlError(`the queue ${label} cannot be used`, {
      code: 'queue_unusable',
      exitCode: exitCodes.usage,
      reason: message,
      hint: 'check the address, its database above all',
      underlying: error,
    });
  return new MediactlError(`the queue ${label} cannot be reached`, {
    code: 'queue_unreachable',
    exitCode: exitCodes.unreachable,
    reason: message || code,
    hint: 'check the address, and that the server runs',
    retryable: true,
    underlying: error,
  });
}
