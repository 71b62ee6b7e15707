import type { FileEvent } from '../../client/upload/session/events.ts';
import type { Clock } from '../../contract/clock.ts';
import { pluralize } from '../../contract/figures.ts';
import { escapeControls } from '../../contract/sanitize.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { formatWait, RunStats } from './run-stats.ts';
import type { StatusLine } from './status-lines.ts';

type PathlessEvent<Name extends string> = Omit<FileEvent & { event: Name }, 'path'>;

/**
 * Shows on stderr how many assets are ready while a command waits for them. Uses a live display on a terminal;
 * elsewhere, prints each change of a single asset's status.
 */
export class WaitDisplay {
  readonly #terminal: Terminal;
  readonly #clock: Clock;
  readonly #since: number;
  readonly #count: number;
  readonly #stats: RunStats;
  #name = '';
  #status = '';
  #ready = 0;
  #failed = 0;
  #display: { close(): void } | undefined;

  private constructor(terminal: Terminal, clock: Clock, count: number) {
    this.#terminal = terminal;
    this.#clock = clock;
    this.#count = count;
    this.#stats = new RunStats(clock);
    this.#since = clock.now();
  }

  /** @param count total number of assets to wait for */
  static async open(terminal: Terminal, clock: Clock, count: number): Promise<WaitDisplay> {
    const display = new WaitDisplay(terminal, clock, count);
    if (count > 0 && terminal.canAnimate) {
      const { LiveDisplay } = await import('./live-display.lazy.ts');
      display.#display = new LiveDisplay(terminal, () => display.#lines());
    } else if (count > 1) terminal.info(`waiting for ${pluralize(count, 'asset')}`);
    return display;
  }

  /** Shows the status of the only asset if it has changed. */
  onStatus(name: string, status: string): void {
    if (this.#count !== 1 || this.#status === status) return;
    [this.#name, this.#status] = [name, status];
    if (!this.#display) this.#terminal.info(`${escapeControls(name)} is ${escapeControls(status)}`);
  }

  /** Counts an asset whose processing has finished or failed. */
  onSettled(isReady: boolean): void {
    if (isReady) this.#ready++;
    else this.#failed++;
  }

  /** Shows that the service is unreachable or the rate limit is used up, or that the wait is over. */
  onWait(event: PathlessEvent<'waiting'> | PathlessEvent<'going_on'>): void {
    this.#stats.apply({ ...event, path: '' });
    if (event.event === 'waiting' && !this.#display) this.#terminal.warn(formatWait(event, this.#clock.now()));
  }

  close(): void {
    this.#display?.close();
  }

  #lines(): StatusLine[] {
    const seconds = (this.#clock.now() - this.#since) / 1000;
    return [{ kind: 'working', text: this.#text(), seconds }, ...this.#stats.statusLines()];
  }

  #text(): string {
    const only =
      this.#status === '' ? 'waiting for it' : `${escapeControls(this.#name)}: ${escapeControls(this.#status)}`;
    const failed = this.#failed > 0 ? `, ${this.#failed} failed` : '';
    return this.#count === 1 ? only : `${this.#ready} of ${this.#count} ready${failed}`;
  }
}
