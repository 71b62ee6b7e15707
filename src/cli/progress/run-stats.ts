import type { RateLimitBudget } from '../../client/http/rate-limiter.ts';
import type { FileEvent, RunEvent } from '../../client/upload/session/events.ts';
import type { Clock } from '../../contract/clock.ts';
import { formatBytes, formatCount, formatDuration, formatTimeOfDay } from '../../contract/figures.ts';
import { escapeControls } from '../../contract/sanitize.ts';
import { waitReason } from './plain-progress.ts';
import type { StatusLine } from './status-lines.ts';
import { TransferRate } from './transfer-rate.ts';

/** Progress of a file in flight, in bytes. A nonempty `note` is shown instead of the bytes. */
type InFlight = { sent: number; size: number; note: string };

/** Statistics of a run of many files, accumulated from its events. */
export class RunStats {
  readonly #clock: Clock;
  readonly #budget: () => RateLimitBudget | undefined;
  readonly #rate = new TransferRate();
  /** Maps paths to files in flight, in the order in which they were started. */
  readonly #inFlight = new Map<string, InFlight>();
  /** Uids of uploaded assets that the service is still processing. */
  readonly #processing = new Set<string>();
  #files = 0;
  #bytes = 0;
  #done = 0;
  #failed = 0;
  #bytesDone = 0;
  #sent = 0;
  #waiting = '';
  #waitUntil = 0;

  constructor(clock: Clock, budget: () => RateLimitBudget | undefined) {
    this.#clock = clock;
    this.#budget = budget;
  }

  onPlanned({ files, bytes }: RunEvent & { event: 'planned' }): void {
    this.#files = files;
    this.#bytes = bytes;
  }

  count(event: FileEvent): void {
    const { path } = event;
    const file = this.#inFlight.get(path);
    switch (event.event) {
      case 'started':
        this.#inFlight.set(path, { sent: 0, size: event.size_bytes, note: '' });
        break;
      case 'rehashing':
        if (file) file.note = 'checking what was sent before';
        break;
      case 'progress':
        if (!file) break;
        file.note = '';
        this.#sent += Math.max(0, event.sent_bytes - file.sent);
        file.sent = event.sent_bytes;
        this.#rate.add(this.#sent, this.#clock.now());
        break;
      case 'waiting':
        this.#waiting = waitReason(event);
        this.#waitUntil = Date.parse(event.until);
        this.#rate.reset();
        break;
      case 'going_on':
        this.#waitUntil = 0;
        break;
      case 'uploaded':
        this.#processing.add(event.asset_uid);
        break;
      case 'status':
        if (event.status === 'ready') this.#processing.delete(event.asset_uid);
        break;
      case 'finished':
        this.#done++;
        if (event.outcome === 'failed') this.#failed++;
        this.#bytesDone += file?.size ?? 0;
        this.#inFlight.delete(path);
        break;
      default:
    }
  }

  /** Returns the totals as the `overall` event of --progress json. */
  overall(): RunEvent & { event: 'overall' } {
    const budget = this.#budget();
    const now = this.#clock.now();
    const rate = this.#rate.bytesPerSecond(now);
    const left = this.#secondsLeft();
    return {
      event: 'overall',
      files_done: this.#done,
      files: this.#files,
      files_failed: this.#failed,
      bytes_done: this.#bytesSoFar(),
      bytes: this.#bytes,
      bytes_per_second: rate === undefined ? null : Math.round(rate),
      seconds_left: left === undefined ? null : Math.round(left),
      requests_left: budget?.left ?? null,
      renews_at: budget ? new Date(budget.resetAt).toISOString() : null,
    };
  }

  /** Returns the lines for the live display: totals, current wait and files in flight. */
  statusLines(maxFiles: number): StatusLine[] {
    const seconds = (this.#waitUntil - this.#clock.now()) / 1000;
    const files = this.#inFlightStates(maxFiles);
    return [
      { kind: 'parts', parts: this.#parts() },
      ...(seconds > 0 ? [{ kind: 'waiting', why: this.#waiting, seconds } as const] : []),
      ...(files.length > 0 ? [{ kind: 'files', files } as const] : []),
    ];
  }

  /** Formats the totals as one log line. */
  summaryLine(): string {
    const seconds = (this.#waitUntil - this.#clock.now()) / 1000;
    const waiting = seconds > 0 ? [`${this.#waiting}: waiting ${formatDuration(seconds)}`] : [];
    return [...this.#parts(), ...waiting].join(', ');
  }

  /** Formats the totals, the most important first. Omits the rate and the time left during a wait. */
  #parts(): string[] {
    const now = this.#clock.now();
    const isWaiting = this.#waitUntil > now;
    const left = this.#secondsLeft();
    const budget = this.#budget();
    const isSending = this.#done < this.#files;
    return [
      `${formatCount(this.#done)} of ${formatCount(this.#files)} files`,
      this.#failed > 0 ? `${formatCount(this.#failed)} failed` : '',
      isSending ? this.#amount() : '',
      left !== undefined ? `${formatDuration(left)} left` : '',
      isSending && !isWaiting ? this.#rate.formatRate(now) : '',
      this.#processing.size > 0 ? `${formatCount(this.#processing.size)} being processed` : '',
      budget
        ? `${formatCount(budget.left)} requests left, ${formatCount(budget.limit)} at ${formatTimeOfDay(budget.resetAt)}`
        : '',
    ].filter((part) => part !== '');
  }

  /** Formats the bytes transferred so far, with the total if it is known. */
  #amount(): string {
    const soFar = formatBytes(this.#bytesSoFar());
    return this.#bytes > 0 ? `${soFar} of ${formatBytes(this.#bytes)}` : soFar;
  }

  /** Returns the names and progress of the `maxFiles` files that have been in flight longest. */
  #inFlightStates(maxFiles: number): { name: string; state: string }[] {
    return [...this.#inFlight].slice(0, maxFiles).map(([path, { sent, size, note }]) => {
      const share = `${Math.floor((100 * sent) / Math.max(1, size))}%`.padStart(4);
      const progressText = size > 0 ? `${share} of ${formatBytes(size)}` : formatBytes(sent);
      return { name: escapeControls(path), state: note || progressText };
    });
  }

  #bytesSoFar(): number {
    let underWay = 0;
    for (const { sent } of this.#inFlight.values()) underWay += sent;
    const soFar = this.#bytesDone + underWay;
    return this.#bytes > 0 ? Math.min(this.#bytes, soFar) : soFar;
  }

  #secondsLeft(): number | undefined {
    const now = this.#clock.now();
    const rate = this.#rate.bytesPerSecond(now);
    const isWaiting = this.#waitUntil > now;
    if (isWaiting || rate === undefined || this.#bytes === 0 || this.#done >= this.#files) return undefined;
    return Math.max(1, (this.#bytes - this.#bytesSoFar()) / rate);
  }
}
