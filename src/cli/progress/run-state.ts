import type { RunEvent, UploadEvent } from '../../client/upload/session/events.ts';
import {
  type FileOutcome,
  isFailedBefore,
  isInterruption,
  outcomeOf,
} from '../../client/upload/session/file-outcome.ts';
import { outcomeNames, type UploadOutcome, uploadOutcomes } from '../../shared/upload-outcomes.ts';

/** Event of a run of uploads, downloads or waits that the display shows. */
export type ShownEvent =
  | UploadEvent
  /** Final outcomes of files. */
  | { event: 'outcomes'; outcomes: readonly FileOutcome[] }
  /** A command waits for assets, and says how far it is. */
  | { event: 'awaited'; text: string };

/** A file in flight. `progress` is undefined until the first bytes leave. */
type InFlight = { size: number; progress?: { acknowledged: number; sent: number }; isRehashing: boolean };

/** State of a run, which follows from its events alone: no clock and no terminal. All renderers show it. */
export type RunState = ReturnType<typeof emptyState>;

export const emptyState = () => ({
  /** True for a run of several files, which shows totals and the files in flight. */
  isBatch: false,
  /** Time at which the first file was started, in milliseconds since the epoch. */
  startedAt: undefined as number | undefined,
  planned: { files_total: 0, bytes_total: 0 } as Pick<RunEvent, 'files_total' | 'bytes_total' | 'files_settling'>,
  /** Maps paths to files in flight, in the order in which they were started. */
  inFlight: new Map<string, InFlight>(),
  /** Files that need no bytes any more. Their assets may still be processed. */
  done: { files: 0, failed: 0, bytes: 0 },
  /** Bytes sent of all files, also of those that were not completed. */
  sentBytes: 0,
  rate: new TransferRate(),
  wait: { kind: 'retrying' as 'rate_limited' | 'retrying', reason: '', until: 0 },
  /** Status of the only asset, or of those that are waited for, and when it was first known. */
  status: undefined as { text: string; since: number } | undefined,
  /** Uids of uploaded assets that the service is still processing. */
  processing: new Set<string>(),
  /** Outcomes so far: how many of each, and what its summary says of them. */
  outcomes: Object.fromEntries(outcomeNames.map((name) => [name, 0])) as Record<UploadOutcome, number>,
  first: undefined as FileOutcome | undefined,
  failures: [] as FileOutcome[],
  /** Files with an outcome, without those that are left out. */
  files: 0,
  bytesSent: 0,
  unverified: 0,
  /** Uploaded files whose assets were still being processed when the run was interrupted. */
  stillProcessing: 0,
});

/** Applies an event to a state, in place, because a run has many. @param now milliseconds since the epoch */
export function applyEvent(state: RunState, event: ShownEvent, now: number): void {
  const file = 'path' in event ? state.inFlight.get(event.path) : undefined;
  switch (event.event) {
    case 'planned':
      state.planned = event;
      state.isBatch ||= event.files_total + event.files_skipped > 1;
      break;
    case 'started':
      state.startedAt ??= now;
      state.inFlight.set(event.path, { size: event.size_bytes, isRehashing: false });
      break;
    case 'verifying':
      if (file) file.isRehashing = true;
      break;
    case 'progress': {
      const { offset_bytes: acknowledged, bytes_sent: sent, size_bytes: size } = event;
      if (!file) break;
      state.sentBytes += Math.max(0, sent - (file.progress?.sent ?? 0));
      state.inFlight.set(event.path, { size, progress: { acknowledged, sent }, isRehashing: false });
      state.rate.add(state.sentBytes, now);
      break;
    }
    case 'waiting':
      state.wait = { kind: event.kind, reason: event.reason, until: Date.parse(event.until) };
      state.rate.reset();
      break;
    case 'requests_resumed':
      state.wait.until = 0;
      break;
    case 'uploaded':
      state.processing.add(event.asset_uid);
      if (!state.isBatch) state.inFlight.delete(event.path);
      break;
    case 'status':
      if (event.status === 'ready') state.processing.delete(event.asset_uid);
      state.status = { text: `${event.path}: ${event.status}`, since: state.status?.since ?? now };
      break;
    case 'awaited':
      state.status = { text: event.text, since: state.status?.since ?? now };
      break;
    case 'finished':
      state.done.files++;
      if (event.outcome === 'failed') state.done.failed++;
      state.done.bytes += file?.size ?? 0;
      state.inFlight.delete(event.path);
      break;
    case 'outcomes':
      for (const outcome of event.outcomes) countOutcome(state, outcome);
      break;
    default:
  }
}

function countOutcome(state: RunState, outcome: FileOutcome): void {
  const { uploaded, error, leftBy } = outcome;
  const isFailed = error !== undefined && !isInterruption(error);
  const name = isFailed ? 'failed' : outcomeOf(outcome);
  state.first ??= outcome;
  state.outcomes[name]++;
  if (leftBy === undefined) state.files++;
  if (isFailed) state.failures.push(outcome);
  // The interruption ended only the wait for the asset.
  else if (error && name === 'uploaded') state.stillProcessing++;
  state.bytesSent += outcome.bytesSent ?? uploaded?.bytesSent ?? 0;
  if (uploaded && uploadOutcomes[uploaded.how].isCompared && uploaded.verified === null) state.unverified++;
}

/** Returns true if some files were uploaded or queued by the run. */
export const hasSent = ({ outcomes }: RunState) =>
  outcomeNames.some((name) => uploadOutcomes[name].isSent && outcomes[name] > 0);

/** Returns true if files are not uploaded, other than those whose processing had failed before. */
export const hasUnsent = ({ failures, outcomes: { busy, interrupted } }: RunState) =>
  busy + interrupted > 0 || failures.some((outcome) => !isFailedBefore(outcome));

/** Returns the bytes of all files so far, the rate, and how long the rest and a wait take; undefined while not known. */
export function paceOf({ inFlight, done, planned, rate, wait }: RunState, now: number) {
  let soFar = done.bytes;
  for (const { progress } of inFlight.values()) soFar += progress?.sent ?? 0;
  const total = planned.bytes_total;
  const bytes = total > 0 ? Math.min(total, soFar) : soFar;
  const secondsToWait = Math.max(0, (wait.until - now) / 1000);
  const isSending = done.files < planned.files_total && secondsToWait === 0;
  const secondsLeft = isSending && total > 0 ? rate.secondsFor(total - bytes, now) : undefined;
  return { bytes, bytesPerSecond: rate.bytesPerSecond(now), secondsLeft, secondsToWait };
}

/** Length of the sliding window over which the rate is averaged. */
const windowMs = 8_000;
/** Minimum time between the first and last sample for a meaningful rate. */
const minSpanMs = 1_000;
const sampleIntervalMs = 250;

/** Transfer rate in bytes per second, averaged over a sliding window. */
export class TransferRate {
  #samples: { at: number; count: number }[] = [];

  /** Adds a sample. @param count total bytes so far */
  add(count: number, now: number): void {
    const [before, last] = this.#samples.slice(-2);
    // Throttled, so that a sample within 250 ms replaces the previous sample.
    if (before && last && last.at - before.at < sampleIntervalMs) this.#samples.pop();
    this.#samples.push({ at: now, count });
    while (this.#samples.length > 2 && now - (this.#samples[1]?.at ?? now) > windowMs) this.#samples.shift();
  }

  /** Resets the rate after a wait, since earlier samples no longer predict it. */
  reset(): void {
    this.#samples = [];
  }

  /** Returns the rate; undefined while there are too few samples. */
  bytesPerSecond(now: number): number | undefined {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)];
    if (!first || !last || now - first.at < minSpanMs) return undefined;
    const rate = ((last.count - first.count) * 1000) / (now - first.at);
    return rate > 0 ? rate : undefined;
  }

  /** Returns the time for the remaining bytes, at least a second; undefined while the rate is unknown. */
  secondsFor(remaining: number, now: number): number | undefined {
    const rate = this.bytesPerSecond(now);
    return rate === undefined ? undefined : Math.max(1, remaining / rate);
  }
}
