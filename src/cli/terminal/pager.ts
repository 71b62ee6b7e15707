import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { withoutSecrets } from '../../client/processes.ts';

/** Default options for `less` and `lv`, unless the user has set others. They keep colors. */
const defaultPagerOptions = { LESS: 'FRX', LV: '-c' };

/** Exit codes of a shell that cannot find or execute a program. */
const cannotRunCodes: readonly unknown[] = [126, 127];

/** A running pager such as `less`. The command is run by the shell, as is usual for PAGER. */
export class Pager {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown[]>;
  /** True once the pager has exited, because the user has quit it or it could not be run. */
  hasExited = false;

  constructor(command: string, environment: Record<string, string | undefined>) {
    this.#child = spawn(command, {
      shell: true,
      stdio: ['pipe', 'inherit', 'inherit'],
      env: withoutSecrets({ ...defaultPagerOptions, ...environment }),
    });
    const markExited = () => {
      this.hasExited = true;
    };
    this.#child.once('exit', markExited);
    this.#child.stdin?.on('error', markExited);
    this.#exited = once(this.#child, 'exit');
  }

  write(text: string | Uint8Array): Promise<void> {
    return new Promise((resolve) => this.#child.stdin?.write(text, () => resolve()));
  }

  /** Waits until the user quits the pager. @returns false if the pager could not be run */
  async close(): Promise<boolean> {
    this.#child.stdin?.end();
    const [code] = await this.#exited;
    return !cannotRunCodes.includes(code);
  }
}
