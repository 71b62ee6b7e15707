import { clearScreenDown } from 'node:readline';
import { MultiBar, type SingleBar } from 'cli-progress';
import ora from 'ora';
import type { Terminal } from '../terminal/terminal.ts';
import type { Look } from './live-lines.ts';

const framesPerSecond = 8;
const [wrapOn, wrapOff, clearBelow] = ['\u001b[?7h', '\u001b[?7l', '\u001b[J'];

/** Internal cursor of cli-progress, which tracks the cursor's offset from the first line. */
type Cursor = { cursorRelativeReset(): void };

/** Lines at the bottom of the terminal, redrawn several times a second. Other output scrolls above them. */
export class LiveDisplay {
  readonly #terminal: Terminal;
  /** Returns the current lines; called for each frame. */
  readonly #lines: (look: Look) => readonly string[];
  readonly #spinnerFrame: () => string;
  readonly #multi: MultiBar;
  readonly #bars: SingleBar[] = [];
  readonly #timer: NodeJS.Timeout;
  #columns: number;

  constructor(terminal: Terminal, lines: (look: Look) => readonly string[]) {
    this.#terminal = terminal;
    this.#lines = lines;
    this.#columns = this.#width;
    const spinner = ora({
      stream: terminal.stderr as NodeJS.WriteStream,
      isEnabled: true,
      color: false as never, // the lines color it, which respects NO_COLOR
    });
    this.#spinnerFrame = () => spinner.frame().trimEnd();
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
    // The cursor rests on the first line, where it stays if the terminal is resized and rewraps the lines.
    const { terminal: cursor } = this.#multi as unknown as { terminal: Cursor };
    const write = (text: string) => void terminal.stderr.write(text);
    // Lines wrap again between frames, since a process that is killed leaves the terminal as it is.
    this.#multi.on('start', () => write(wrapOn));
    this.#multi.on('redraw-pre', () => {
      write(wrapOff);
      this.#clearAfterResize();
    });
    this.#multi.on('redraw-post', () => {
      cursor.cursorRelativeReset();
      write(wrapOn);
    });
    this.#timer = setInterval(() => this.#draw(), 1000 / framesPerSecond);
    // Lines of the display never wrap, but a line logged above them can wrap over rows drawn earlier.
    terminal.redirectLines((line) => this.#multi.log(`${clearBelow}${wrapOn}${line}${wrapOff}`));
    this.#draw();
  }

  get #width(): number {
    return Math.max(20, (this.#terminal.stderr.columns ?? 80) - 1);
  }

  #draw(): void {
    const { redactor, stderr } = this.#terminal;
    const colors = this.#terminal.colors(stderr);
    const lines = this.#lines({ columns: this.#width, colors, spinner: this.#spinnerFrame() });
    while (this.#bars.length < lines.length) this.#bars.push(this.#multi.create(1, 0, { line: '' }));
    for (const [at, bar] of this.#bars.entries()) bar.update(0, { line: redactor.redact(lines[at] ?? '') });
  }

  /** Clears the old lines after a resize, which might have rewrapped them. */
  #clearAfterResize(): void {
    if (this.#width !== this.#columns) clearScreenDown(this.#terminal.stderr);
    this.#columns = this.#width;
  }

  /** Removes the display, so that later output is written in its place. */
  close(): void {
    clearInterval(this.#timer);
    for (const bar of this.#bars) bar.update(0, { line: '' });
    this.#multi.update(); // flush the buffered log lines
    this.#multi.stop();
    this.#terminal.redirectLines(undefined);
  }
}
