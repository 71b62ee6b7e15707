import type { Clock } from '../clock.ts';
import type { FileEvent } from '../upload/events.ts';
import { bytes, duration } from './figures.ts';
import { printable } from './printable.ts';
import { Rate } from './rate.ts';
import type { Terminal } from './terminal.ts';

/** What one file's events are shown by. */
export type FileProgress = { show(event: FileEvent): void; close(): void };

export function sayDoubt(event: FileEvent, terminal: Terminal): void {
  sayNotice(event, terminal);
  if (event.event === 'uploaded' && event.verified === null)
    terminal.warn(`${printable(event.path)}: ${unverified}`);
}

/** What is said in every form but --quiet. */
function sayNotice(event: FileEvent, terminal: Terminal): void {
  if (event.event === 'notice') terminal.warn(printable(event.message));
}

const unverified = 'unverified: the service gave no checksum to compare with';

/** The events that are a line in every form for people. */
export function lineOf(event: FileEvent): string | undefined {
  const name = printable(event.path);
  switch (event.event) {
    case 'rehashing':
      return `${name}: checking ${bytes(event.offset_bytes)} that were uploaded earlier`;
    case 'resumed':
      return `${name}: continuing at ${bytes(event.offset_bytes)}, asset ${event.asset_uid}`;
    case 'created':
      return `${name}: asset ${event.asset_uid}`;
    case 'uploaded':
      return `${name}: uploaded, ${event.verified === null ? unverified : 'verified (BLAKE3)'}`;
    default:
      return undefined;
  }
}

/** Why it waits: for the service's budget, or for the service. */
export const waitReason = ({
  why,
  reason,
}: Pick<FileEvent & { event: 'waiting' }, 'why' | 'reason'>) =>
  why === 'rate-limited' ? 'rate limit reached' : printable(reason);

const plainIntervalMs = 10_000;

/** Lines for logs: what happened, and how far it is every ten seconds. */
export class PlainProgress implements FileProgress {
  readonly #terminal: Terminal;
  readonly #clock: Clock;
  readonly #statuses = new Map<string, string>();
  readonly #rate = new Rate();
  #saidAt: number;

  constructor(terminal: Terminal, clock: Clock) {
    this.#terminal = terminal;
    this.#clock = clock;
    this.#saidAt = clock.now();
  }

  show(event: FileEvent): void {
    const now = this.#clock.now();
    sayNotice(event, this.#terminal);
    const happened = lineOf(event);
    if (happened) this.#terminal.tell(happened);
    if (event.event === 'started') this.#rate.restart();
    if (event.event === 'status') this.#status(event);
    if (event.event === 'waiting') {
      this.#rate.restart();
      const seconds = (Date.parse(event.until) - now) / 1000;
      this.#terminal.tell(
        `${printable(event.path)}: ${waitReason(event)}; waiting ${duration(seconds)}`,
      );
    }
    if (event.event !== 'progress') return;
    this.#rate.add(event.sent_bytes, now);
    if (now - this.#saidAt < plainIntervalMs) return;
    this.#saidAt = now;
    const { acknowledged_bytes: held, sent_bytes: sent, size_bytes: size } = event;
    const parts = [
      `${bytes(sent)}${size > 0 ? ` of ${bytes(size)}` : ''}`,
      held < sent ? `${bytes(held)} acknowledged` : '',
      this.#rate.text(now),
      size > 0 ? this.#rate.left(size - sent, now) : '',
    ];
    this.#terminal.tell(`${printable(event.path)}: ${parts.filter(Boolean).join(', ')}`);
  }

  /** Once each: somebody asks again and again while it is processed. */
  #status({ path, status }: FileEvent & { event: 'status' }): void {
    if (this.#statuses.get(path) === status) return;
    this.#statuses.set(path, status);
    this.#terminal.tell(`${printable(path)}: ${printable(status)}`);
  }

  close(): void {}
}
