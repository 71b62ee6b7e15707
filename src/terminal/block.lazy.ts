import { MultiBar, type SingleBar } from 'cli-progress';
import stringWidth from 'string-width';
import type { Tally } from './tally.ts';
import type { Terminal } from './terminal.ts';

const framesPerSecond = 4;
/** In a terminal's usual 24 lines there is room for what came before. */
const mostFiles = 8;
const separator = ' · ';

/** A standing block: the whole run in a line, and one for each file in flight. Lines said meanwhile stand above it. */
export class Block {
  readonly #terminal: Terminal;
  readonly #tally: Tally;
  readonly #multi: MultiBar;
  readonly #lines: SingleBar[] = [];
  readonly #timer: NodeJS.Timeout;
  #isClosed = false;

  constructor(terminal: Terminal, tally: Tally) {
    this.#terminal = terminal;
    this.#tally = tally;
    this.#multi = new MultiBar({
      stream: terminal.stderr as NodeJS.WriteStream,
      format: '{line}',
      fps: framesPerSecond,
      hideCursor: true,
      clearOnComplete: true,
      linewrap: false,
      gracefulExit: false,
      emptyOnZero: true,
    });
    this.#timer = setInterval(() => this.#draw(), 1000 / framesPerSecond);
    this.#draw();
  }

  /** A line that stays, above the block. */
  say(text: string): void {
    this.#multi.log(`${this.#terminal.redactor.redact(text)}\n`);
  }

  #draw(): void {
    if (this.#isClosed) return;
    const columns = Math.max(20, (this.#terminal.stderr.columns ?? 80) - 1);
    const lines = [
      fitted(this.#tally.parts(), columns),
      ...inColumns(this.#tally.files(mostFiles), columns),
    ];
    while (this.#lines.length < lines.length)
      this.#lines.push(this.#multi.create(1, 0, { line: '' }));
    for (const [at, bar] of this.#lines.entries())
      bar.update(0, { line: this.#terminal.redactor.redact(lines[at] ?? '') });
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearInterval(this.#timer);
    this.#multi.stop();
  }
}

/** Names, and beside each how far it is. */
function inColumns(files: readonly { name: string; state: string }[], columns: number): string[] {
  const widest = Math.max(...files.map(({ state }) => stringWidth(state)));
  const cut = files.map(({ name }) => cutAtStart(name, columns - widest - 4));
  const width = Math.max(...cut.map((name) => stringWidth(name)));
  return files.map(({ state }, at) => {
    const name = cut[at] ?? '';
    return `  ${name}${' '.repeat(width - stringWidth(name))}  ${state}`;
  });
}

/** As many parts as there is room for, the first ones first. */
function fitted(parts: readonly string[], columns: number): string {
  let line = '';
  for (const part of parts) {
    const longer = line === '' ? part : `${line}${separator}${part}`;
    if (stringWidth(longer) > columns) break;
    line = longer;
  }
  return line;
}

const graphemes = new Intl.Segmenter();

/** The end of a path tells files apart. */
function cutAtStart(text: string, columns: number): string {
  if (stringWidth(text) <= columns) return text;
  const parts = [...graphemes.segment(text)].map(({ segment }) => segment);
  let cut = '';
  for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
    if (stringWidth(part + cut) > columns - 1) break;
    cut = part + cut;
  }
  return `…${cut}`;
}
