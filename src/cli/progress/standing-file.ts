import type { Clock } from '../../client/clock.ts';
import type { FileEvent } from '../../client/upload/session/events.ts';
import { escapeControls } from '../../contract/sanitize.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { type FileProgress, lineOf, waitReason } from './plain-progress.ts';
import { Rate } from './rate.ts';
import type { Standing } from './standing.lazy.ts';
import type { Line } from './standing-lines.ts';
import type { Transfer } from './transfer-line.ts';

/** Delay before the display appears, so that short transfers do not make it flash. */
const quickMs = 250;

type OpenStanding = (lines: () => readonly Line[]) => Pick<Standing, 'close'>;

/** Live progress of one file on a terminal: the transfer, and below it the current wait. */
export class StandingFile implements FileProgress {
  readonly #terminal: Terminal;
  readonly #clock: Clock;
  readonly #open: OpenStanding;
  readonly #rate = new Rate();
  #patience: NodeJS.Timeout | undefined;
  #standing: ReturnType<OpenStanding> | undefined;
  #transfer: Pick<Transfer, 'held' | 'sent' | 'size'> | undefined;
  #waiting: { why: string; until: number } | undefined;
  #status: { text: string; since: number } | undefined;

  constructor(terminal: Terminal, clock: Clock, open: OpenStanding) {
    this.#terminal = terminal;
    this.#clock = clock;
    this.#open = open;
  }

  show(event: FileEvent): void {
    const now = this.#clock.now();
    switch (event.event) {
      case 'started':
        this.#rate.restart();
        break;
      case 'progress':
        this.#rate.add(event.sent_bytes, now);
        this.#transfer = {
          held: event.acknowledged_bytes,
          sent: event.sent_bytes,
          size: event.size_bytes,
        };
        break;
      case 'waiting':
        this.#waiting = { why: waitReason(event), until: Date.parse(event.until) };
        this.#rate.restart();
        break;
      case 'going_on':
        this.#waiting = undefined;
        break;
      case 'status':
        if (event.status !== 'ready') {
          this.#became(`${escapeControls(event.path)}: ${escapeControls(event.status)}`, now);
          break;
        }
        this.close();
        return;
      case 'notice':
        this.#terminal.warn(event.message);
        return;
      default: {
        if (event.event === 'uploaded') this.#transfer = undefined;
        const happened = lineOf(event);
        if (happened) this.#terminal.tell(happened);
        if (event.event === 'finished') this.close();
        return;
      }
    }
    if (this.#waiting) this.#stand();
    else this.#patience ??= setTimeout(() => this.#stand(), quickMs);
  }

  #stand(): void {
    this.#patience = undefined;
    if (this.#lines().length > 0) this.#standing ??= this.#open(() => this.#lines());
  }

  #became(text: string, now: number): void {
    this.#status = { text, since: this.#status?.since ?? now };
  }

  #lines(): Line[] {
    const now = this.#clock.now();
    const transfer = this.#transfer;
    const lines: Line[] = [];
    if (transfer && transfer.sent + transfer.size > 0) {
      const rate = this.#waiting ? '' : this.#rate.text(now);
      const isKnown = !this.#waiting && transfer.size > 0;
      const left = isKnown ? this.#rate.left(transfer.size - transfer.sent, now) : '';
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
    clearTimeout(this.#patience);
    this.#patience = undefined;
    this.#standing?.close();
    this.#standing = undefined;
    this.#transfer = undefined;
    this.#waiting = undefined;
    this.#status = undefined;
  }
}
