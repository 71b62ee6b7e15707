import type { QueueClient } from '../../../queue/queue-client.ts';
import type { Context } from '../../context.ts';

/** Difference between the clocks of a machine and a queue's store beyond which files are retried too early or too late. */
const maxStoreSkewMs = 5_000;

/** Warns if a queue's store may lose jobs, or if this machine's clock differs from its clock. */
export async function warnOfStore({ terminal, clock }: Context, client: QueueClient): Promise<void> {
  const { label } = client.address;
  const { durabilityWarning } = client.serverInfo;
  if (durabilityWarning) terminal.warn(`${label}: ${durabilityWarning}`);
  const skewMs = await client.store.skewOf(clock);
  if (Math.abs(skewMs) <= maxStoreSkewMs) return;
  const difference = `${(Math.abs(skewMs) / 1_000).toFixed(1)} s ${skewMs > 0 ? 'ahead of' : 'behind'}`;
  terminal.warn(`this machine’s clock is ${difference} the clock of ${label}; synchronize both clocks with NTP`);
}
