import type { SingleBar } from 'cli-progress';
import type { Clock } from '../clock.ts';
import type { UploadEvent } from '../upload/events.ts';
import { bytes, duration, printable } from './printable.ts';
import { openSpinner, type Spinner } from './spinner.ts';
import type { Terminal } from './terminal.ts';

export const progressModes = ['auto', 'bar', 'plain', 'json', 'none'] as const;
export type ProgressMode = (typeof progressModes)[number];

/** Shows upload events on stderr, one file after another. */
export type Progress = { show(event: UploadEvent): void; close(): void };

export async function openProgress(
  mode: ProgressMode,
  terminal: Terminal,
  clock: Clock,
): Promise<Progress> {
  const chosen = mode === 'auto' ? (terminal.canAnimate ? 'bar' : 'plain') : mode;
  if (chosen === 'json')
    return { show: (event) => terminal.say(JSON.stringify(event)), close: () => {} };
  if (chosen === 'none') return { show: (event) => sayDoubt(event, terminal), close: () => {} };
  if (chosen === 'plain') return new PlainProgress(terminal, clock);
  const {
    default: { SingleBar: Bar },
  } = await import('cli-progress');
  return new BarProgress(terminal, clock, await openSpinner(terminal), Bar);
}

/** What is said whatever else is not. */
function sayNotice(event: UploadEvent, terminal: Terminal): void {
  if (event.event === 'notice') terminal.warn(printable(event.message));
}

function sayDoubt(event: UploadEvent, terminal: Terminal): void {
  sayNotice(event, terminal);
  if (event.event === 'uploaded' && event.verified === null)
    terminal.warn(`${printable(event.path)}: ${unverified}`);
}

const unverified = 'unverified: the service named no checksum to compare with';

/** The events that are a line in every form for people. */
function line(event: UploadEvent): string | undefined {
  const name = printable(event.path);
  switch (event.event) {
    case 'rehashing':
      return `${name}: checking ${bytes(event.offset_bytes)} uploaded earlier`;
    case 'resumed':
      return `${name}: going on at ${bytes(event.offset_bytes)}, asset ${event.asset_uid}`;
    case 'created':
      return `${name}: asset ${event.asset_uid}`;
    case 'uploaded':
      return `${name}: uploaded, ${event.verified === null ? unverified : 'verified (BLAKE3)'}`;
    default:
      return undefined;
  }
}

/** Bytes a second, of what went out lately. */
class Rate {
  #at = 0;
  #sent = 0;
  bytesPerSecond = 0;

  add(sent: number, now: number): void {
    const seconds = (now - this.#at) / 1000;
    if (this.#at === 0 || sent < this.#sent) {
      this.#at = now;
      this.#sent = sent;
    } else if (seconds >= 0.5) {
      const current = (sent - this.#sent) / seconds;
      this.bytesPerSecond = this.bytesPerSecond
        ? 0.7 * this.bytesPerSecond + 0.3 * current
        : current;
      this.#at = now;
      this.#sent = sent;
    }
  }

  left(remaining: number): string {
    return this.bytesPerSecond > 0 ? duration(remaining / this.bytesPerSecond) : '–';
  }

  toString(): string {
    return this.bytesPerSecond > 0 ? `${bytes(this.bytesPerSecond)}/s` : '–';
  }
}

const plainIntervalMs = 10_000;

/** Lines for logs: what happened, and how far it is every ten seconds. */
class PlainProgress implements Progress {
  readonly #terminal: Terminal;
  readonly #clock: Clock;
  readonly #statuses = new Map<string, string>();
  #rate = new Rate();
  #saidAt: number;

  constructor(terminal: Terminal, clock: Clock) {
    this.#terminal = terminal;
    this.#clock = clock;
    this.#saidAt = clock.now();
  }

  show(event: UploadEvent): void {
    sayNotice(event, this.#terminal);
    const happened = line(event);
    if (happened) this.#terminal.say(happened);
    if (event.event === 'started') this.#rate = new Rate();
    if (event.event === 'status') this.#status(event);
    if (event.event === 'waiting') this.#terminal.say(waiting(event, this.#clock.now()));
    if (event.event !== 'progress') return;
    const now = this.#clock.now();
    this.#rate.add(event.sent_bytes, now);
    if (now - this.#saidAt < plainIntervalMs) return;
    this.#saidAt = now;
    const { acknowledged_bytes: done, sent_bytes: sent, size_bytes: size } = event;
    this.#terminal.say(
      `${printable(event.path)}: ${bytes(done)} of ${bytes(size)}, ${this.#rate}, ${this.#rate.left(size - sent)} left`,
    );
  }

  /** Once each: somebody asks again and again while it is processed. */
  #status({ path, status }: UploadEvent & { event: 'status' }): void {
    if (this.#statuses.get(path) === status) return;
    this.#statuses.set(path, status);
    this.#terminal.say(`${printable(path)}: ${printable(status)}`);
  }

  close(): void {}
}

const waiting = (event: UploadEvent & { event: 'waiting' }, now: number) =>
  `${printable(event.path)}: ${event.why === 'rate-limited' ? 'rate limit reached' : printable(event.reason)}; waiting ${duration((Date.parse(event.until) - now) / 1000)}`;

/** One bar: acknowledged bytes, rate, time left; a countdown while the service asks to wait. */
class BarProgress implements Progress {
  readonly #terminal: Terminal;
  readonly #clock: Clock;
  readonly #spinner: Spinner;
  #rate = new Rate();
  #bar: SingleBar | undefined;
  #countdown: NodeJS.Timeout | undefined;

  readonly #Bar: typeof SingleBar;

  constructor(terminal: Terminal, clock: Clock, spinner: Spinner, Bar: typeof SingleBar) {
    this.#terminal = terminal;
    this.#clock = clock;
    this.#spinner = spinner;
    this.#Bar = Bar;
  }

  show(event: UploadEvent): void {
    switch (event.event) {
      case 'progress':
        this.#progress(event);
        break;
      case 'waiting':
        this.#waiting(event);
        break;
      case 'going_on':
        this.#note('');
        break;
      case 'status':
        if (event.status === 'ready') this.close();
        else this.#spinner.say(`${printable(event.path)}: ${event.status}`);
        break;
      case 'started':
        this.#rate = new Rate();
        break;
      default:
        this.close();
        sayNotice(event, this.#terminal);
        this.#sayLine(event);
    }
  }

  #progress(event: UploadEvent & { event: 'progress' }): void {
    const { acknowledged_bytes: done, sent_bytes: sent, size_bytes: size } = event;
    this.#rate.add(sent, this.#clock.now());
    if (size === 0) return;
    const numbers = {
      done: `${bytes(done)} of ${bytes(size)}`,
      rate: String(this.#rate),
      left: this.#rate.left(size - sent),
    };
    if (!this.#bar) {
      this.#bar = new this.#Bar({
        stream: this.#terminal.stderr as NodeJS.WriteStream,
        format: '  {bar} {percentage}% | {done} acknowledged | {rate} | {left} left{note}',
        barCompleteChar: '█',
        barIncompleteChar: '░',
        barsize: 24,
        fps: 8,
        hideCursor: true,
        clearOnComplete: true,
        linewrap: false,
        gracefulExit: false,
      });
      this.#bar.start(size, done, { ...numbers, note: '' });
    }
    this.#bar.update(done, numbers);
  }

  #waiting(event: UploadEvent & { event: 'waiting' }): void {
    const tick = () => {
      const left = Math.max(0, Date.parse(event.until) - this.#clock.now());
      const why = event.why === 'rate-limited' ? 'rate limit' : printable(event.reason);
      if (this.#bar) this.#note(` | ${why}: ${duration(left / 1000)}`);
      else this.#spinner.say(`${why}: going on in ${duration(left / 1000)}`);
    };
    clearInterval(this.#countdown);
    this.#countdown = setInterval(tick, 1000);
    tick();
  }

  #note(note: string): void {
    if (note === '') clearInterval(this.#countdown);
    if (!this.#bar) this.#spinner.stop();
    this.#bar?.update({ note: this.#terminal.redactor.redact(note) });
  }

  #sayLine(event: UploadEvent): void {
    const happened = line(event);
    if (happened) this.#terminal.say(happened);
  }

  close(): void {
    clearInterval(this.#countdown);
    this.#bar?.stop();
    this.#bar = undefined;
    this.#spinner.stop();
  }
}
