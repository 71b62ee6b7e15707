import { endsTheRun, exitCodes, type MediactlError } from '../errors.ts';
import { isStop } from '../upload/session/outcome.ts';

/**
 * Says how a failure is handled: `lost`, another worker has the file; `back`, this worker was stopped;
 * `worker`, this worker's key or connection is wrong: it ends, and the file is retried by others; `pause`,
 * this worker's disk or version is wrong: it pauses, and the file does not count as tried; `queue`, every
 * other file would fail too (credits, storage); `again`, a retry may succeed; `elsewhere`, another worker
 * may have the right file or account, and a few try before it fails; `file`, it fails now.
 */
export type Fate = 'lost' | 'back' | 'worker' | 'pause' | 'queue' | 'again' | 'elsewhere' | 'file';

const passing: number[] = [exitCodes.unreachable, exitCodes.rateLimited, exitCodes.unclassified];

/** Failures that may be the fault of this machine's disk, roots or account. */
const ofTheMachine = [
  ...['no_such_file', 'file_gone', 'file_changed'],
  ...['outside_roots', 'foreign_service'],
];

export function fateOf(error: MediactlError): Fate {
  const { exitCode, explanation } = error;
  const { code, retryable = false } = explanation;
  if (code === 'lease_lost') return 'lost';
  if (isStop(error) || code === 'worker_paused') return 'back';
  if (exitCode === exitCodes.quota) return 'queue';
  if (code === 'queue_unusable') return 'worker';
  if (['root_gone', 'newer_task'].includes(code)) return 'pause';
  if (ofTheMachine.includes(code)) return 'elsewhere';
  if (code === 'unreadable_file') return 'again'; // which another machine may read
  // A service where nobody listens is away, for all workers alike: it comes back.
  if (passing.includes(exitCode) && !['tls', 'proxy'].includes(code)) return 'again';
  if (endsTheRun(error)) return 'worker';
  return retryable ? 'again' : 'file';
}
