import { clearScreenDown } from 'node:readline';
import { MultiBar, type SingleBar } from 'cli-progress';
import ora from 'ora';
import type { Terminal } from '../terminal/terminal.ts';
import { drawnLines, type Line } from './standing-lines.ts';

const framesPerSecond = 8;
const [wrapOn, wrapOff, clearBelow] = ['\u001b[?7h', '\u001b[?7l', '\u001b[J'];

/** cli-progress's own: it knows how far below the first line it is. */
type Cursor = { cursorRelativeReset(): void };

/** Lines that stand at the foot of the terminal and are drawn anew; what is said meanwhile stands above them. */
export class Standing {
  readonly #terminal: Terminal;
  readonly #lines: () => readonly Line[];
  readonly #mark: () => string;
  readonly #multi: MultiBar;
  readonly #bars: SingleBar[] = [];
  readonly #timer: NodeJS.Timeout;
  #columns: number;
  #isClosed = false;

  /** @param lines what stands there now; asked for each drawing */
  constructor(terminal: Terminal, lines: () => readonly Line[]) {
    this.#terminal = terminal;
    this.#lines = lines;
    this.#columns = this.#width;
    const spinner = ora({
      ...{ stream: terminal.stderr as NodeJS.WriteStream, isEnabled: true },
      color: false as never, // ours, which knows NO_COLOR and --color
    });
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
    // The cursor rests where the lines begin: a terminal that wraps them anew leaves it there, whatever
    // else it does.
    const { terminal: cursor } = this.#multi as unknown as { terminal: Cursor };
    this.#multi.on('redraw-post', () => cursor.cursorRelativeReset());
    this.#multi.on('redraw-pre', () => this.#clearAfterResize());
    this.#timer = setInterval(() => this.#draw(), 1000 / framesPerSecond);
    // The block does not wrap; a line above it may, over rows that were drawn before.
    terminal.standsBelow((line) => this.#multi.log(`${clearBelow}${wrapOn}${line}${wrapOff}`));
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
    while (this.#bars.length < lines.length)
      this.#bars.push(this.#multi.create(1, 0, { line: '' }));
    for (const [at, bar] of this.#bars.entries())
      bar.update(0, { line: redactor.redact(lines[at] ?? '') });
  }

  /** What was drawn for another width may be more lines by now, or end further right. */
  #clearAfterResize(): void {
    if (this.#width !== this.#columns) clearScreenDown(this.#terminal.stderr);
    this.#columns = this.#width;
  }

  /** Nothing of it is left; what comes is written where it stood. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearInterval(this.#timer);
    for (const bar of this.#bars) bar.update(0, { line: '' });
    this.#multi.update(); // what was said last is still held
    this.#multi.stop();
    this.#terminal.standsBelow(undefined);
  }
}
