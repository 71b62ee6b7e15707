import type { SingleBar } from 'cli-progress';
import type { Clock } from '../clock.ts';
import type { Budget, FileEvent, UploadEvent } from '../upload/events.ts';
import { bytes, duration, printable } from './printable.ts';
import type { ProgressMode } from './progress-modes.ts';
import { Rate } from './rate.ts';
import { openSpinner, type Spinner } from './spinner.ts';
import type { Terminal } from './terminal.ts';

/** Shows upload events on stderr. `close` ends what is redrawn; lines may be said again. */
export type Progress = { show(event: UploadEvent): void; close(): void };

/** What one file's events are shown by. */
type FileProgress = { show(event: FileEvent): void; close(): void };

/** @param budget what is left of the requests, as far as the service tells */
export async function openProgress(
  mode: ProgressMode,
  terminal: Terminal,
  clock: Clock,
  budget: () => Budget | undefined,
): Promise<Progress> {
  const chosen = mode === 'auto' ? (terminal.canAnimate ? 'bar' : 'plain') : mode;
  const one = await openFileProgress(chosen, terminal, clock);
  const { openManyProgress } = await import('./many-progress.ts');
  const many = await openManyProgress(chosen, terminal, clock, budget);
  let shown: FileProgress = one;
  return {
    show: (event) => {
      if (event.event === 'overall') return;
      if (event.event !== 'planned') return shown.show(event);
      if (event.files + event.there < 2) return;
      one.close();
      shown = many;
      many.begin(event);
    },
    close: () => shown.close(),
  };
}

async function openFileProgress(
  chosen: Exclude<ProgressMode, 'auto'>,
  terminal: Terminal,
  clock: Clock,
): Promise<FileProgress> {
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
function sayNotice(event: FileEvent, terminal: Terminal): void {
  if (event.event === 'notice') terminal.warn(printable(event.message));
}

function sayDoubt(event: FileEvent, terminal: Terminal): void {
  sayNotice(event, terminal);
  if (event.event === 'uploaded' && event.verified === null)
    terminal.warn(`${printable(event.path)}: ${unverified}`);
}

const unverified = 'unverified: the service named no checksum to compare with';

/** The events that are a line in every form for people. */
function line(event: FileEvent): string | undefined {
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

const plainIntervalMs = 10_000;

/** Lines for logs: what happened, and how far it is every ten seconds. */
class PlainProgress implements FileProgress {
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

  show(event: FileEvent): void {
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
  #status({ path, status }: FileEvent & { event: 'status' }): void {
    if (this.#statuses.get(path) === status) return;
    this.#statuses.set(path, status);
    this.#terminal.say(`${printable(path)}: ${printable(status)}`);
  }

  close(): void {}
}

const waiting = (event: FileEvent & { event: 'waiting' }, now: number) =>
  `${printable(event.path)}: ${event.why === 'rate-limited' ? 'rate limit reached' : printable(event.reason)}; waiting ${duration((Date.parse(event.until) - now) / 1000)}`;

/** One bar: acknowledged bytes, rate, time left; a countdown while the service asks to wait. */
class BarProgress implements FileProgress {
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

  show(event: FileEvent): void {
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

  #progress(event: FileEvent & { event: 'progress' }): void {
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

  #waiting(event: FileEvent & { event: 'waiting' }): void {
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

  #sayLine(event: FileEvent): void {
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
