import { onTestFinished } from 'vitest';
import { openQueueClient } from '../../src/queue/open-queue-client.ts';
import { parseQueueAddress } from '../../src/queue/queue-address.ts';
import { systemClock } from '../../src/shared/clock.ts';

/** Opens a queue for the current test, which closes it. */
export async function openTestQueue(address: string) {
  const client = await openQueueClient(parseQueueAddress('', address), {
    clock: systemClock,
    signal: new AbortController().signal,
    onConnectionChange: () => {},
    use: 'work',
  });
  onTestFinished(() => client.close());
  return client;
}
