import type { Clock } from '../clock.ts';
import type { Budget, FileEvent, RunEvent } from '../upload/events.ts';
import { bytes, duration, grouped, printable } from './printable.ts';
import { Rate } from './rate.ts';

/** A file under way: how far it is, and what it waits for. */
type InFlight = { sent: number; size: number; note: string };

/** The figures of a run of many files, kept from its events. */
export class Tally {
  readonly #clock: Clock;
  readonly #budget: () => Budget | undefined;
  readonly #rate = new Rate();
  /** By path; those that were begun first come first. */
  readonly #inFlight = new Map<string, InFlight>();
  /** Sent, and not seen to be ready yet. */
  readonly #processing = new Set<string>();
  #files = 0;
  #bytes = 0;
  #done = 0;
  #failed = 0;
  #bytesDone = 0;
  #sent = 0;
  #waiting = '';
  #waitUntil = 0;

  constructor(clock: Clock, budget: () => Budget | undefined) {
    this.#clock = clock;
    this.#budget = budget;
  }

  planned({ files, bytes: count }: RunEvent & { event: 'planned' }): void {
    this.#files = files;
    this.#bytes = count;
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
        this.#waiting = event.why === 'rate-limited' ? 'rate limit' : printable(event.reason);
        this.#waitUntil = Date.parse(event.until);
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

  overall(): RunEvent & { event: 'overall' } {
    const budget = this.#budget();
    const { bytesPerSecond } = this.#rate;
    const left = this.#secondsLeft();
    return {
      event: 'overall',
      files_done: this.#done,
      files: this.#files,
      files_failed: this.#failed,
      bytes_done: this.#bytesSoFar(),
      bytes: this.#bytes,
      bytes_per_second: bytesPerSecond > 0 ? Math.round(bytesPerSecond) : null,
      seconds_left: left === undefined ? null : Math.round(left),
      requests_left: budget?.left ?? null,
      renews_at: budget ? new Date(budget.resetAt).toISOString() : null,
    };
  }

  /** In words, what matters most first. */
  parts(): string[] {
    const waitMs = this.#waitUntil - this.#clock.now();
    const left = this.#secondsLeft();
    const budget = this.#budget();
    const isSending = this.#done < this.#files;
    return [
      `${grouped(this.#done)} of ${grouped(this.#files)} files`,
      this.#failed > 0 ? `${grouped(this.#failed)} failed` : '',
      isSending ? `${bytes(this.#bytesSoFar())} of ${bytes(this.#bytes)}` : '',
      waitMs > 0 ? `${this.#waiting}: waiting ${duration(waitMs / 1000)}` : '',
      waitMs <= 0 && isSending ? String(this.#rate) : '',
      waitMs <= 0 && left !== undefined ? `${duration(left)} left` : '',
      this.#processing.size > 0 ? `${grouped(this.#processing.size)} being processed` : '',
      budget
        ? `${grouped(budget.left)} requests left, ${grouped(budget.limit)} at ${timeOfDay(budget.resetAt)}`
        : '',
    ].filter((part) => part !== '' && part !== '–');
  }

  /** The files in flight: how each is called, and how far it is. */
  files(most: number): { name: string; state: string }[] {
    return [...this.#inFlight].slice(0, most).map(([path, { sent, size, note }]) => {
      const share = size > 0 ? `${Math.floor((100 * sent) / size)}%` : '';
      return { name: printable(path), state: note || `${share.padStart(4)} of ${bytes(size)}` };
    });
  }

  #bytesSoFar(): number {
    let underWay = 0;
    for (const { sent } of this.#inFlight.values()) underWay += sent;
    return Math.min(this.#bytes, this.#bytesDone + underWay);
  }

  #secondsLeft(): number | undefined {
    const { bytesPerSecond } = this.#rate;
    const isWaiting = this.#waitUntil > this.#clock.now();
    if (isWaiting || bytesPerSecond <= 0 || this.#done >= this.#files) return undefined;
    return Math.max(1, (this.#bytes - this.#bytesSoFar()) / bytesPerSecond);
  }
}

/** `14:07`, by the clock on the wall here. */
const timeOfDay = (time: number) =>
  new Date(time).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
