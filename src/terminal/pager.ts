import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { usageError } from '../errors.ts';
import { withoutKey } from '../processes.ts';

/** What `less` and `lv` are told where the person has told them nothing: leave short texts, keep colours. */
const usual = { LESS: 'FRX', LV: '-c' };

/** How a shell ends that cannot find a program, or may not run it. */
const notRun: readonly unknown[] = [126, 127];

/** A program that shows a text page by page. It is a line for the shell, as PAGER is everywhere. */
export class Pager {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown[]>;
  #hasLeft = false;

  constructor(command: string, environment: Record<string, string | undefined>) {
    this.#child = spawn(command, {
      shell: true,
      stdio: ['pipe', 'inherit', 'inherit'],
      env: withoutKey({ ...usual, ...environment }),
    });
    this.#ended = once(this.#child, 'exit');
    this.#child.stdin?.on('error', () => {
      this.#hasLeft = true; // somebody has seen enough
    });
  }

  /** False once the person has left it. */
  async write(text: string | Uint8Array): Promise<boolean> {
    await new Promise<void>((resolve) => this.#child.stdin?.write(text, () => resolve()));
    return !this.#hasLeft;
  }

  /** Waits until the person has left it. @throws MediactlError exit 2 where there is no such program */
  async close(): Promise<void> {
    this.#child.stdin?.end();
    const [code] = await this.#ended;
    if (notRun.includes(code))
      throw usageError('the pager cannot be run', 'set PAGER to another one, or --no-pager');
  }
}
