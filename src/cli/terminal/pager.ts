import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { withoutKey } from '../../client/processes.ts';

/** What `less` and `lv` are told where the person has told them nothing: leave short texts, keep colours. */
const usual = { LESS: 'FRX', LV: '-c' };

/** How a shell ends that cannot find a program, or may not run it. */
const notRun: readonly unknown[] = [126, 127];

/** A program that shows a text page by page. It is a line for the shell, as PAGER is everywhere. */
export class Pager {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown[]>;
  /** Somebody has seen enough, or there is no such program. */
  hasLeft = false;

  constructor(command: string, environment: Record<string, string | undefined>) {
    this.#child = spawn(command, {
      shell: true,
      stdio: ['pipe', 'inherit', 'inherit'],
      env: withoutKey({ ...usual, ...environment }),
    });
    const leaves = () => {
      this.hasLeft = true;
    };
    this.#child.once('exit', leaves);
    this.#child.stdin?.on('error', leaves);
    this.#ended = once(this.#child, 'exit');
  }

  async write(text: string | Uint8Array): Promise<void> {
    await new Promise<void>((resolve) => this.#child.stdin?.write(text, () => resolve()));
  }

  /** Waits until the person has left it. @returns false where there is no such program */
  async close(): Promise<boolean> {
    this.#child.stdin?.end();
    const [code] = await this.#ended;
    return !notRun.includes(code);
  }
}
