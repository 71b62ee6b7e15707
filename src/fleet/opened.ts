import type { Clock } from '../clock.ts';
import { exitCodes, MediactlError } from '../errors.ts';
import type { QueueAddress } from '../settings/queue-address.ts';
import { atMost } from './patience.ts';

/* What both stores need to be opened and closed. */

export const connectMs = 10_000;
export const closeMs = 3_000;

/** A part of the engine, and what it keeps open. */
export type Opened = {
  on(event: 'error', hear: () => void): unknown;
  waitUntilReady(): Promise<unknown>;
  /** Its own lines alone, and not what it was given. */
  getBackend(): { close(isForced: boolean): Promise<void> };
  close(): Promise<void>;
  disconnect(): Promise<void>;
};

/** A store that is away does not keep the process. */
export async function ended(opened: ReadonlySet<Opened>, clock: Clock): Promise<void> {
  const closed = Promise.all([...opened].map((each) => each.close().catch(() => {})));
  await atMost(closeMs, clock, closed);
  for (const each of opened) each.disconnect().catch(() => {}); // of a line that is dead already
}

/**
 * Begins a part of the engine once the store is there for it. One that could not look at its store when
 * it began never looks again, and spins (BullMQ 6.7): it is thrown away, and another is begun.
 *
 * @param wait asks again where the store is away
 * @throws what the signal of that aborts with
 */
export function begun<T extends Opened>(
  make: () => T,
  all: Set<Opened>,
  wait: (ask: () => Promise<T>) => Promise<T>,
): Promise<T> {
  return wait(async () => {
    const one = make();
    all.add(one);
    one.on('error', () => {}); // it would end the process where nobody listens
    try {
      await one.waitUntilReady();
    } catch (error) {
      all.delete(one);
      await one
        .getBackend()
        .close(true)
        .catch(() => {}); // of a line that is dead already
      throw error;
    }
    return one;
  });
}

/** What a store says that does not let one in: Redis, then SQLSTATE 28 and 42501 (PostgreSQL). */
const isRefusal = (message: string, code: string) =>
  /^(?:NOAUTH|WRONGPASS|NOPERM)\b/.test(message) || /^(?:28|42501)/.test(code);

/** SQLSTATE of a server that is there: no such database, too old. */
const isAnswer = (code: string) => /^[0-9A-Z]{5}$/.test(code) && !/^(?:08|57|53300|E)/.test(code);

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
