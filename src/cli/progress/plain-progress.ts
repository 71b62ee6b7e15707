import type { FileEvent } from '../../client/upload/session/events.ts';
import type { Clock } from '../../contract/clock.ts';
import { formatBytes, formatDuration, formatTimeOfDay } from '../../contract/figures.ts';
import { escapeControls } from '../../contract/sanitize.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { TransferRate } from './transfer-rate.ts';

/** Progress display for the upload of a single file. */
export type FileProgress = { show(event: FileEvent): void; close(): void };

/** Prints notices and unverified uploads as warnings. Besides waits, --progress none prints nothing else. */
export function warnUnverified(event: FileEvent, terminal: Terminal): void {
  warnNotice(event, terminal);
  if (event.event === 'uploaded' && event.verified === null)
    terminal.warn(`${escapeControls(event.path)}: ${unverified}`);
}

/** Prints a `notice` event as a warning, unless --quiet is set. */
function warnNotice(event: FileEvent, terminal: Terminal): void {
  if (event.event === 'notice') terminal.warn(escapeControls(event.message));
}

const unverified = 'unverified: the service gave no checksum to compare with';

/** Formats an event that gets its own line in the bar and plain modes; undefined for all other events. */
export function formatEvent(event: FileEvent): string | undefined {
  const name = escapeControls(event.path);
  switch (event.event) {
    case 'rehashing':
      return `${name}: checking ${formatBytes(event.offset_bytes)} that were uploaded earlier`;
    case 'resumed':
      return `${name}: continuing at ${formatBytes(event.offset_bytes)}, asset ${event.asset_uid}`;
    case 'created':
      return `${name}: asset ${event.asset_uid}`;
    case 'uploaded':
      return `${name}: uploaded, ${event.verified === null ? unverified : 'verified (BLAKE3)'}`;
    default:
      return undefined;
  }
}

/** Returns the reason why an upload waits, which is the rate limit or a failure before a retry. */
export const waitReason = ({ why, reason }: Pick<FileEvent & { event: 'waiting' }, 'why' | 'reason'>) =>
  why === 'rate-limited' ? 'rate limit reached' : escapeControls(reason);

/** Formats a wait, as in `rate limit reached; waiting 50:00, until 14:07`. */
export function formatWait(event: Omit<FileEvent & { event: 'waiting' }, 'path'>, now: number) {
  const until = Date.parse(event.until);
  return `${waitReason(event)}; waiting ${formatDuration((until - now) / 1000)}, until ${formatTimeOfDay(until)}`;
}

/** Creates an event handler that warns when a wait begins, but only once for all files that wait together. */
export function createWaitWarner(terminal: Terminal, clock: Clock): (event: FileEvent) => void {
  let warned = '';
  return (event) => {
    if (event.event === 'going_on') warned = '';
    if (event.event !== 'waiting') return;
    const wait = event.why === 'rate-limited' ? event.until : event.why;
    if (wait !== warned) terminal.warn(formatWait(event, clock.now()));
    warned = wait;
  };
}

const plainIntervalMs = 10_000;

/** Progress of one file as log lines, with a line for each event and the bytes sent every ten seconds. */
export class PlainProgress implements FileProgress {
  readonly #terminal: Terminal;
  readonly #clock: Clock;
  readonly #statuses = new Map<string, string>();
  readonly #rate = new TransferRate();
  #lastPrintedAt: number;

  constructor(terminal: Terminal, clock: Clock) {
    this.#terminal = terminal;
    this.#clock = clock;
    this.#lastPrintedAt = clock.now();
  }

  show(event: FileEvent): void {
    const now = this.#clock.now();
    warnNotice(event, this.#terminal);
    const eventLine = formatEvent(event);
    if (eventLine) this.#terminal.emit(eventLine);
    if (event.event === 'started') this.#rate.reset();
    if (event.event === 'status') this.#printStatus(event);
    if (event.event === 'waiting') {
      this.#rate.reset();
      const which = event.path === '' ? '' : `${escapeControls(event.path)}: `;
      this.#terminal.emit(`${which}${formatWait(event, now)}`);
    }
    if (event.event !== 'progress') return;
    this.#rate.add(event.sent_bytes, now);
    if (now - this.#lastPrintedAt < plainIntervalMs) return;
    this.#lastPrintedAt = now;
    const { acknowledged_bytes: held, sent_bytes: sent, size_bytes: size } = event;
    const parts = [
      `${formatBytes(sent)}${size > 0 ? ` of ${formatBytes(size)}` : ''}`,
      held < sent ? `${formatBytes(held)} acknowledged` : '',
      this.#rate.formatRate(now),
      size > 0 ? this.#rate.formatTimeLeft(size - sent, now) : '',
    ];
    this.#terminal.emit(`${escapeControls(event.path)}: ${parts.filter(Boolean).join(', ')}`);
  }

  /** Prints an asset's status if it has changed, since polling reports the same status repeatedly. */
  #printStatus({ path, status }: FileEvent & { event: 'status' }): void {
    if (this.#statuses.get(path) === status) return;
    this.#statuses.set(path, status);
    this.#terminal.emit(`${escapeControls(path)}: ${escapeControls(status)}`);
  }

  close(): void {}
}
