import type { Terminal } from '../terminal/terminal.ts';
import { renderStatusLines, type StatusLine } from './status-lines.ts';

const framesPerSecond = 8;
const spinnerFrames = [...'⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏'];
const [hideCursor, showCursor] = ['\u001b[?25l', '\u001b[?25h'];
const [wrapOn, wrapOff] = ['\u001b[?7h', '\u001b[?7l'];
const [clearRight, clearBelow] = ['\u001b[0K', '\u001b[0J'];
const lineStart = '\u001b[1G';
const cursorUp = (rows: number) => (rows > 0 ? `\u001b[${rows}A` : '');

/** Live display at the bottom of the terminal, redrawn several times a second. Other output scrolls above it. */
export class LiveDisplay {
  readonly #terminal: Terminal;
  readonly #lines: () => readonly StatusLine[];
  readonly #timer: NodeJS.Timeout;
  #frame = 0;

  /** @param lines returns the current lines; called for each frame */
  constructor(terminal: Terminal, lines: () => readonly StatusLine[]) {
    this.#terminal = terminal;
    this.#lines = lines;
    // Lines of the display never wrap, but a line logged above them can.
    terminal.redirectLines((line) => {
      terminal.stderr.write(`${clearBelow}${wrapOn}${line}${wrapOff}`);
      this.#draw();
    });
    terminal.stderr.write(`${hideCursor}${wrapOff}`);
    this.#timer = setInterval(() => this.#draw(), 1000 / framesPerSecond);
  }

  /**
   * Draws the lines over those of the last frame. The cursor rests on the first line, where it stays if the terminal
   * is resized and rewraps the lines.
   */
  #draw(): void {
    const { redactor, stderr } = this.#terminal;
    const columns = Math.max(20, (stderr.columns ?? 80) - 1);
    const spinner = spinnerFrames[this.#frame++ % spinnerFrames.length] ?? '';
    const lines = renderStatusLines(this.#lines(), columns, this.#terminal.colors(stderr), spinner);
    const drawn = lines.map((line) => `${redactor.redact(line)}${clearRight}`).join('\n');
    stderr.write(`${drawn}${clearBelow}${lineStart}${cursorUp(lines.length - 1)}`);
  }

  /** Removes the display, so that later output is written in its place. */
  close(): void {
    clearInterval(this.#timer);
    this.#terminal.redirectLines(undefined);
    this.#terminal.stderr.write(`${lineStart}${clearBelow}${wrapOn}${showCursor}`);
  }
}
