import type { Clock } from '../../client/clock.ts';
import type { FileEvent } from '../../client/upload/session/events.ts';
import { bytes, duration, timeOfDay } from '../../contract/figures.ts';
import { printable } from '../../contract/sanitize.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { Rate } from './rate.ts';

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

/** Returns why it waits, for how long, and until when: `rate limit reached; waiting 50:00, until 14:07`. */
export function waitText(event: Omit<FileEvent & { event: 'waiting' }, 'path'>, now: number) {
  const until = Date.parse(event.until);
  return `${waitReason(event)}; waiting ${duration((until - now) / 1000)}, until ${timeOfDay(until)}`;
}

/** Returns what warns of waits as they begin: once for all files that wait for the same. */
export function waitWarnings(terminal: Terminal, clock: Clock): (event: FileEvent) => void {
  let warned = '';
  return (event) => {
    if (event.event === 'going_on') warned = '';
    if (event.event !== 'waiting') return;
    const wait = event.why === 'rate-limited' ? event.until : event.why;
    if (wait !== warned) terminal.warn(waitText(event, clock.now()));
    warned = wait;
  };
}

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
      const which = event.path === '' ? '' : `${printable(event.path)}: `;
      this.#terminal.tell(`${which}${waitText(event, now)}`);
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
