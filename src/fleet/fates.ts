import { endsTheRun, exitCodes, type MediactlError } from '../errors.ts';
import { isStop } from '../upload/outcome.ts';

/**
 * What a failure means for a file and for others: `lost`, another worker has it; `back`, this worker was
 * stopped; `worker`, it is this worker's fault (its key, its disk, its line), and others may do better, a
 * few times; `queue`, every other file would fail alike (credits, storage); `again`, the same may succeed
 * later; `file`, it never will.
 */
export type Fate = 'lost' | 'back' | 'worker' | 'queue' | 'again' | 'file';

const passing: number[] = [exitCodes.unreachable, exitCodes.rateLimited, exitCodes.unclassified];

export function fateOf(error: MediactlError): Fate {
  const { exitCode, explanation } = error;
  const { code, retryable = false } = explanation;
  if (code === 'lease_lost') return 'lost';
  if (isStop(error)) return 'back';
  if (exitCode === exitCodes.quota) return 'queue';
  if (code === 'root_gone' || code === 'queue_unusable') return 'worker';
  if (code === 'file_gone') return 'file';
  if (code === 'unreadable_file') return 'again'; // which another machine may read
  // A service where nobody listens is away, for all workers alike: it comes back.
  if (passing.includes(exitCode) && !['tls', 'proxy'].includes(code)) return 'again';
  if (endsTheRun(error)) return 'worker';
  return retryable ? 'again' : 'file';
}
