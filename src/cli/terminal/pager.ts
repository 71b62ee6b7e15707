import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { withoutApiKey } from '../../client/processes.ts';

/** Default options of `less` and `lv`, unless the user has set them: quit on short text, keep colors. */
const usual = { LESS: 'FRX', LV: '-c' };

/** Exit codes of a shell that cannot find or execute a program. */
const notRun: readonly unknown[] = [126, 127];

/** A running pager such as `less`. The command is passed to the shell, as is usual for PAGER. */
export class Pager {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown[]>;
  /** True once the pager has exited: the user quit it, or it could not be run. */
  hasLeft = false;

  constructor(command: string, environment: Record<string, string | undefined>) {
    this.#child = spawn(command, {
      shell: true,
      stdio: ['pipe', 'inherit', 'inherit'],
      env: withoutApiKey({ ...usual, ...environment }),
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

  /** Waits until the user quits the pager. @returns false if the pager could not be run */
  async close(): Promise<boolean> {
    this.#child.stdin?.end();
    const [code] = await this.#ended;
    return !notRun.includes(code);
  }
}
