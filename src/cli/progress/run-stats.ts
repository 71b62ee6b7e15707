import type { RateLimitBudget } from '../../client/http/rate-limiter.ts';
import type { FileEvent, RunEvent, UploadEvent } from '../../client/upload/session/events.ts';
import type { Clock } from '../../contract/clock.ts';
import { formatBytes, formatCount, formatDuration, formatTimeOfDay, formatWait } from '../../contract/figures.ts';
import { escapeControls } from '../../contract/sanitize.ts';
import type { StatusLine } from './status-lines.ts';

/** Maximum number of files in flight to show, so that earlier output stays visible on a 24-line terminal. */
const maxFilesShown = 8;

/** A file in flight. `progress` is undefined until the first bytes leave. */
type InFlight = { size: number; progress?: { acknowledged: number; sent: number }; isRehashing: boolean };

/** Statistics of a transfer of one or many files, accumulated from its events: bytes, files, failures, rate, wait. */
export class RunStats {
  readonly #clock: Clock;
  readonly #budget: () => RateLimitBudget | undefined;
  readonly #rate = new TransferRate();
  /** Maps paths to files in flight, in the order in which they were started. */
  readonly #inFlight = new Map<string, InFlight>();
  /** Uids of uploaded assets that the service is still processing. */
  readonly #processing = new Set<string>();
  readonly #standing: () => string;
  #isBatch: boolean;
  #files = 0;
  #bytes = 0;
  #done = 0;
  #failed = 0;
  #bytesDone = 0;
  #sent = 0;
  #wait = { reason: '', until: 0 };
  #status: { text: string; since: number } | undefined;

  /**
   * @param isBatch true for a run of many files, before a `planned` event says so
   * @param standing returns the first part of the totals
   */
  constructor(
    clock: Clock,
    {
      budget = () => undefined,
      isBatch = false,
      standing = () => '',
    }: {
      budget?: (() => RateLimitBudget | undefined) | undefined;
      isBatch?: boolean;
      standing?: (() => string) | undefined;
    } = {},
  ) {
    this.#clock = clock;
    this.#budget = budget;
    this.#isBatch = isBatch;
    this.#standing = standing;
  }

  /** True for a run of several files, which shows totals and the files in flight. */
  get isBatch(): boolean {
    return this.#isBatch;
  }

  apply(event: UploadEvent): void {
    if (event.event === 'planned') {
      this.#files = event.files_total;
      this.#bytes = event.bytes_total;
      this.#isBatch ||= event.files_total + event.files_skipped > 1;
    } else if (event.event !== 'totals') this.#applyToFile(event);
  }

  #applyToFile(event: FileEvent): void {
    const { path } = event;
    const file = this.#inFlight.get(path);
    const now = this.#clock.now();
    switch (event.event) {
      case 'started':
        this.#inFlight.set(path, { size: event.size_bytes, isRehashing: false });
        break;
      case 'verifying':
        if (file) file.isRehashing = true;
        break;
      case 'progress': {
        const { offset_bytes: acknowledged, bytes_sent: sent, size_bytes: size } = event;
        if (!file) break;
        this.#sent += Math.max(0, sent - (file.progress?.sent ?? 0));
        this.#inFlight.set(path, { size, progress: { acknowledged, sent }, isRehashing: false });
        this.#rate.add(this.#sent, now);
        break;
      }
      case 'waiting':
        this.#wait = { reason: waitReason(event), until: Date.parse(event.until) };
        this.#rate.reset();
        break;
      case 'requests_resumed':
        this.#wait.until = 0;
        break;
      case 'uploaded':
        this.#processing.add(event.asset_uid);
        if (!this.#isBatch) this.#inFlight.delete(path);
        break;
      case 'status': {
        if (event.status === 'ready') this.#processing.delete(event.asset_uid);
        const text = `${escapeControls(path)}: ${escapeControls(event.status)}`;
        this.#status = { text, since: this.#status?.since ?? now };
        break;
      }
      case 'finished':
        this.#done++;
        if (event.outcome === 'failed') this.#failed++;
        this.#bytesDone += file?.size ?? 0;
        this.#inFlight.delete(path);
        break;
      default:
    }
  }

  overall(): RunEvent & { event: 'totals' } {
    const budget = this.#budget();
    const rate = this.#rate.bytesPerSecond(this.#clock.now());
    const left = this.#secondsLeft();
    return {
      event: 'totals',
      files_done: this.#done,
      files_total: this.#files,
      files_failed: this.#failed,
      bytes_done: this.#bytesSoFar(),
      bytes_total: this.#bytes,
      bytes_per_second: rate === undefined ? null : Math.round(rate),
      eta_seconds: left === undefined ? null : Math.round(left),
      requests_remaining: budget?.left ?? null,
      resets_at: budget ? new Date(budget.resetAt).toISOString() : null,
    };
  }

  /** Returns the lines for the live display: totals or the only file, the current wait, and files in flight. */
  statusLines(): StatusLine[] {
    const seconds = this.#secondsToWait;
    const isWaiting = seconds > 0;
    return [
      ...(this.#isBatch ? [{ kind: 'parts', parts: this.#parts() } as const] : this.#fileLines(isWaiting)),
      ...(isWaiting ? [{ kind: 'waiting', why: this.#wait.reason, seconds } as const] : []),
      ...(this.#isBatch && this.#inFlight.size > 0 ? [{ kind: 'files', files: this.#filesInFlight() } as const] : []),
    ];
  }

  summaryLine(): string {
    const seconds = this.#secondsToWait;
    const waiting = seconds > 0 ? [`${this.#wait.reason}: waiting ${formatDuration(seconds)}`] : [];
    return [...this.#parts(), ...waiting].join(', ');
  }

  fileLine(path: string): string {
    const { size = 0, progress } = this.#inFlight.get(path) ?? {};
    const { acknowledged, sent } = progress ?? { acknowledged: 0, sent: 0 };
    const now = this.#clock.now();
    const parts = [
      amountOf(sent, size),
      acknowledged < sent ? `${formatBytes(acknowledged)} acknowledged` : '',
      this.#rate.formatRate(now),
      size > 0 ? this.#rate.formatTimeLeft(size - sent, now) : '',
    ];
    return `${escapeControls(path)}: ${parts.filter(Boolean).join(', ')}`;
  }

  get #secondsToWait(): number {
    return (this.#wait.until - this.#clock.now()) / 1000;
  }

  /** Returns the line for a single file: its transfer, then the processing status of its asset. */
  #fileLines(isWaiting: boolean): StatusLine[] {
    const now = this.#clock.now();
    const [file] = this.#inFlight.values();
    if (file?.progress && file.progress.sent + file.size > 0) {
      const { size, progress } = file;
      const rate = isWaiting ? '' : this.#rate.formatRate(now);
      const left = isWaiting || size === 0 ? '' : this.#rate.formatTimeLeft(size - progress.sent, now);
      return [{ kind: 'transfer', transfer: { ...progress, size, rate, left } }];
    }
    if (!this.#status || isWaiting) return [];
    const { text, since } = this.#status;
    return [{ kind: 'working', text, seconds: (now - since) / 1000 }];
  }

  /** Formats the totals, the most important first. Omits the rate and the ETA during a wait. */
  #parts(): string[] {
    const left = this.#secondsLeft();
    const budget = this.#budget();
    const isSending = this.#done < this.#files;
    return [
      this.#standing(),
      `${formatCount(this.#done)} of ${formatCount(this.#files)} files`,
      this.#failed > 0 ? `${formatCount(this.#failed)} failed` : '',
      isSending ? amountOf(this.#bytesSoFar(), this.#bytes) : '',
      left !== undefined ? `ETA ${formatDuration(left)}` : '',
      isSending && this.#secondsToWait <= 0 ? this.#rate.formatRate(this.#clock.now()) : '',
      this.#processing.size > 0 ? `${formatCount(this.#processing.size)} processing` : '',
      budget ? `${formatCount(budget.left)} requests remaining, reset at ${formatTimeOfDay(budget.resetAt)}` : '',
    ].filter((part) => part !== '');
  }

  /** Returns the names and progress of the files that have been in flight longest. */
  #filesInFlight(): { name: string; state: string }[] {
    return [...this.#inFlight].slice(0, maxFilesShown).map(([path, { progress: { sent } = { sent: 0 }, ...file }]) => {
      const { size, isRehashing } = file;
      const share = `${Math.floor((100 * sent) / Math.max(1, size))}%`.padStart(4);
      const state = size > 0 ? `${share} of ${formatBytes(size)}` : formatBytes(sent);
      return { name: escapeControls(path), state: isRehashing ? 'checking sent bytes' : state };
    });
  }

  #bytesSoFar(): number {
    let soFar = this.#bytesDone;
    for (const { progress } of this.#inFlight.values()) soFar += progress?.sent ?? 0;
    return this.#bytes > 0 ? Math.min(this.#bytes, soFar) : soFar;
  }

  #secondsLeft(): number | undefined {
    const rate = this.#rate.bytesPerSecond(this.#clock.now());
    const isOver = this.#bytes === 0 || this.#done >= this.#files;
    if (rate === undefined || isOver || this.#secondsToWait > 0) return undefined;
    return Math.max(1, (this.#bytes - this.#bytesSoFar()) / rate);
  }
}

/** Formats the bytes transferred so far, with the total if it is known. */
const amountOf = (soFar: number, total: number) =>
  total > 0 ? `${formatBytes(soFar)} of ${formatBytes(total)}` : formatBytes(soFar);

type WaitingEvent = Omit<FileEvent & { event: 'waiting' }, 'path'>;

/** Returns the reason why a transfer waits, which is the rate limit or a failure before a retry. */
const waitReason = ({ kind, reason }: WaitingEvent) =>
  kind === 'rate_limited' ? 'rate limit reached' : escapeControls(reason);

/** Formats a wait, as in `rate limit reached; waiting 50:00, until 14:07`. */
export const describeWait = (event: WaitingEvent, now: number): string =>
  `${waitReason(event)}; ${formatWait(Date.parse(event.until), now)}`;

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

  /** Formats the rate as `4.2 MiB/s`; empty while it is unknown. */
  formatRate(now: number): string {
    const rate = this.bytesPerSecond(now);
    return rate === undefined ? '' : `${formatBytes(rate)}/s`;
  }

  /** Formats the time for the remaining bytes as `ETA 4:07`; empty while the rate is unknown. */
  formatTimeLeft(remaining: number, now: number): string {
    const rate = this.bytesPerSecond(now);
    return rate === undefined ? '' : `ETA ${formatDuration(Math.max(1, remaining / rate))}`;
  }
}
