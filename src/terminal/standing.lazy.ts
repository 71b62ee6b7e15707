import { clearScreenDown, moveCursor } from 'node:readline';
import { MultiBar, type SingleBar } from 'cli-progress';
import ora from 'ora';
import stringWidth from 'string-width';
import { drawnLines, type Line } from './standing-lines.ts';
import type { Terminal } from './terminal.ts';

const framesPerSecond = 8;

/** Lines that stand at the foot of the terminal and are drawn anew; what is said meanwhile stands above them. */
export class Standing {
  readonly #terminal: Terminal;
  readonly #lines: () => readonly Line[];
  readonly #mark: () => string;
  readonly #multi: MultiBar;
  readonly #bars: SingleBar[] = [];
  readonly #timer: NodeJS.Timeout;
  #next: readonly string[] = [];
  /** What the terminal shows, drawn when it was so wide. */
  #shown: readonly string[] = [];
  #columns: number;
  #isResized = false;
  #isClosed = false;

  /** @param lines what stands there now; asked for each drawing */
  constructor(terminal: Terminal, lines: () => readonly Line[]) {
    this.#terminal = terminal;
    this.#lines = lines;
    this.#columns = this.#width;
    const spinner = ora({ stream: terminal.stderr as NodeJS.WriteStream, isEnabled: true });
    this.#mark = () => spinner.frame().trimEnd();
    this.#multi = new MultiBar({
      stream: terminal.stderr as NodeJS.WriteStream,
      format: '{line}',
      fps: framesPerSecond,
      hideCursor: true,
      clearOnComplete: true,
      linewrap: false,
      gracefulExit: false,
      emptyOnZero: true,
      forceRedraw: true,
    });
    this.#multi.on('update-pre', () => this.#unwrap());
    this.#multi.on('redraw-pre', () => this.#clearAfterResize());
    this.#multi.on('redraw-post', () => {
      this.#shown = this.#next;
    });
    this.#timer = setInterval(() => this.#draw(), 1000 / framesPerSecond);
    terminal.standsBelow((line) => this.#multi.log(line));
    this.#draw();
  }

  get #width(): number {
    return Math.max(20, (this.#terminal.stderr.columns ?? 80) - 1);
  }

  #draw(): void {
    if (this.#isClosed) return;
    const { redactor, stderr } = this.#terminal;
    const colors = this.#terminal.colors(stderr);
    const lines = drawnLines(this.#lines(), this.#width, colors, this.#mark);
    this.#next = lines.map((line) => redactor.redact(line));
    while (this.#bars.length < this.#next.length)
      this.#bars.push(this.#multi.create(1, 0, { line: '' }));
    for (const [at, bar] of this.#bars.entries()) bar.update(0, { line: this.#next[at] ?? '' });
  }

  /** A terminal that got narrower has wrapped what stood there: it is more lines than were drawn. */
  #unwrap(): void {
    const now = this.#width;
    if (now === this.#columns) return;
    const columns = now + 1;
    const wrapped = this.#shown.map((line) =>
      Math.max(0, Math.ceil(stringWidth(line) / columns) - 1),
    );
    this.#columns = now;
    this.#isResized = true;
    this.#draw();
    moveCursor(this.#terminal.stderr, 0, -wrapped.reduce((sum, more) => sum + more, 0));
  }

  #clearAfterResize(): void {
    if (this.#isResized) clearScreenDown(this.#terminal.stderr);
    this.#isResized = false;
  }

  /** Nothing of it is left; what comes is written where it stood. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearInterval(this.#timer);
    this.#multi.update(); // what was said last is still held
    this.#multi.stop();
    this.#terminal.standsBelow(undefined);
  }
}
