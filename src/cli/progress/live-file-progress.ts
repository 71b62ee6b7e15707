import type { FileEvent } from '../../client/upload/session/events.ts';
import type { Clock } from '../../contract/clock.ts';
import { escapeControls } from '../../contract/sanitize.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { LiveDisplay } from './live-display.lazy.ts';
import { type FileProgress, formatEvent, waitReason } from './plain-progress.ts';
import type { StatusLine } from './status-lines.ts';
import type { TransferState } from './transfer-line.ts';
import { TransferRate } from './transfer-rate.ts';

/** Delay before the display appears, so that it does not flash for short transfers. */
const showDelayMs = 250;

type OpenDisplay = (lines: () => readonly StatusLine[]) => Pick<LiveDisplay, 'close'>;

/** Live progress of one file on a terminal, with the current wait below the transfer. */
export class LiveFileProgress implements FileProgress {
  readonly #terminal: Terminal;
  readonly #clock: Clock;
  readonly #open: OpenDisplay;
  readonly #rate = new TransferRate();
  #showTimer: NodeJS.Timeout | undefined;
  #display: ReturnType<OpenDisplay> | undefined;
  #transfer: Pick<TransferState, 'acknowledged' | 'sent' | 'size'> | undefined;
  #waiting: { why: string; until: number } | undefined;
  #status: { text: string; since: number } | undefined;

  constructor(terminal: Terminal, clock: Clock, open: OpenDisplay) {
    this.#terminal = terminal;
    this.#clock = clock;
    this.#open = open;
  }

  show(event: FileEvent): void {
    const now = this.#clock.now();
    switch (event.event) {
      case 'started':
        this.#rate.reset();
        break;
      case 'progress':
        this.#rate.add(event.sent_bytes, now);
        this.#transfer = {
          acknowledged: event.acknowledged_bytes,
          sent: event.sent_bytes,
          size: event.size_bytes,
        };
        break;
      case 'waiting':
        this.#waiting = { why: waitReason(event), until: Date.parse(event.until) };
        this.#rate.reset();
        break;
      case 'going_on':
        this.#waiting = undefined;
        break;
      case 'status':
        if (event.status !== 'ready') {
          this.#setStatus(`${escapeControls(event.path)}: ${escapeControls(event.status)}`, now);
          break;
        }
        this.close();
        return;
      case 'notice':
        this.#terminal.warn(event.message);
        return;
      default: {
        if (event.event === 'uploaded') this.#transfer = undefined;
        const eventLine = formatEvent(event);
        if (eventLine) this.#terminal.emit(eventLine);
        if (event.event === 'finished') this.close();
        return;
      }
    }
    if (this.#waiting) this.#showDisplay();
    else this.#showTimer ??= setTimeout(() => this.#showDisplay(), showDelayMs);
  }

  #showDisplay(): void {
    this.#showTimer = undefined;
    if (this.#lines().length > 0) this.#display ??= this.#open(() => this.#lines());
  }

  #setStatus(text: string, now: number): void {
    this.#status = { text, since: this.#status?.since ?? now };
  }

  #lines(): StatusLine[] {
    const now = this.#clock.now();
    const transfer = this.#transfer;
    const lines: StatusLine[] = [];
    if (transfer && transfer.sent + transfer.size > 0) {
      const rate = this.#waiting ? '' : this.#rate.formatRate(now);
      const isKnown = !this.#waiting && transfer.size > 0;
      const left = isKnown ? this.#rate.formatTimeLeft(transfer.size - transfer.sent, now) : '';
      lines.push({ kind: 'transfer', transfer: { ...transfer, rate, left } });
    } else if (this.#status && !this.#waiting) {
      const { text, since } = this.#status;
      lines.push({ kind: 'working', text, seconds: (now - since) / 1000 });
    }
    if (this.#waiting) {
      const { why, until } = this.#waiting;
      lines.push({ kind: 'waiting', why, seconds: (until - now) / 1000 });
    }
    return lines;
  }

  close(): void {
    clearTimeout(this.#showTimer);
    this.#showTimer = undefined;
    this.#display?.close();
    this.#display = undefined;
    this.#transfer = undefined;
    this.#waiting = undefined;
    this.#status = undefined;
  }
}
