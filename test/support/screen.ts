import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import xterm, { type IBufferCell } from '@xterm/headless';
import { hangMs } from './hang.ts';
import { Pty, shellQuote } from './pty.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** A character cell of the screen with its style. */
export type ScreenCell = {
  text: string;
  width: number;
  color: number | undefined;
  bold: boolean;
  dim: boolean;
};

/** Runs a program on its own terminal and emulates the screen that a user sees. */
export class Screen {
  readonly exited: Promise<number | null>;
  readonly #pty: Pty;
  readonly #terminal: InstanceType<typeof xterm.Terminal>;
  readonly #device: string;
  readonly #rows: number;

  /** @param command arguments, or a command line for the shell */
  constructor(
    command: readonly string[] | string,
    environment: Record<string, string | undefined>,
    { columns, rows = 40 }: { columns: number; rows?: number },
  ) {
    this.#device = join(temporaryFolder(), 'tty');
    this.#rows = rows;
    const line = typeof command === 'string' ? command : shellQuote(command);
    this.#terminal = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true });
    const script = join(temporaryFolder(), 'script');
    writeFileSync(script, `tty > ${shellQuote([this.#device])}\nstty rows ${rows}\n${line}\n`);
    this.#pty = new Pty(['bash', script], environment, columns, (text) => this.#terminal.write(text));
    // The emulator parses asynchronously: wait until it has parsed the last output.
    this.exited = this.#pty.exited.then(
      (code) => new Promise((resolve) => this.#terminal.write('', () => resolve(code))),
    );
  }

  /** Lines currently on screen, without trailing empty ones. */
  get lines(): string[] {
    return this.cells.map((row) =>
      row
        .map(({ text }) => text)
        .join('')
        .trimEnd(),
    );
  }

  get cells(): ScreenCell[][] {
    const { active } = this.#terminal.buffer;
    const rows = Array.from({ length: active.length }, (_, y) => {
      const line = active.getLine(y);
      return Array.from({ length: this.#terminal.cols }, (__, x) => cellOf(line?.getCell(x)));
    });
    const last = rows.findLastIndex((row) => row.some(({ text }) => text.trim() !== ''));
    return rows.slice(0, last + 1);
  }

  async waitForText(pattern: RegExp): Promise<void> {
    const deadline = Date.now() + hangMs;
    while (!pattern.test(this.lines.join('\n'))) {
      if (Date.now() > deadline) throw new Error(`${pattern} is not shown:\n${this.lines.join('\n')}`);
      await sleep(20);
    }
  }

  /** Closes the terminal, which ends the program. */
  kill(): void {
    this.#pty.kill();
  }

  type(text: string): void {
    this.#pty.type(text);
  }

  /** Resizes the terminal as a window manager does: the program gets SIGWINCH. */
  resize(columns: number): void {
    if (!existsSync(this.#device)) throw new Error('the terminal is not there yet');
    this.#terminal.resize(columns, this.#rows);
    const device = readFileSync(this.#device, 'utf8').trim();
    spawnSync('stty', ['-F', device, 'cols', String(columns)]);
  }
}

function cellOf(cell: IBufferCell | undefined): ScreenCell {
  const text = cell?.getChars() || (cell?.getWidth() === 0 ? '' : ' ');
  return {
    text,
    width: cell?.getWidth() ?? 1,
    color: cell?.isFgDefault() ? undefined : cell?.getFgColor(),
    bold: Boolean(cell?.isBold()),
    dim: Boolean(cell?.isDim()),
  };
}
