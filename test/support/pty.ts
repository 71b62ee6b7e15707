import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { inherited } from './environment.ts';

/** Quotes arguments for a shell. */
export const shellQuote = (words: readonly string[]) => words.map((word) => `'${word}'`).join(' ');

/** Runs a program on its own pseudoterminal; waits for prompts before it types. */
export class Pty {
  output = '';
  readonly exited: Promise<number | null>;
  readonly type: (text: string) => void;
  readonly kill: () => void;

  constructor(
    command: readonly string[],
    environment: Record<string, string | undefined>,
    columns = 100,
    onText?: (text: string) => void,
  ) {
    const child = spawn('script', ['-qefc', `stty cols ${columns}; ${shellQuote(command)}`, '/dev/null'], {
      env: { ...inherited, NO_PAGER: '1', ...environment }, // a test that wants the pager unsets it
    });
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.output += text;
      onText?.(text);
    });
    this.kill = () => void child.kill('SIGKILL'); // closes the terminal, which ends the program on it
    this.type = (text) => void child.stdin.write(text);
    this.exited = new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (code) => resolve(code));
    });
  }

  /** Types a text once the question is shown; waits without a limit, since the test has a timeout. */
  async answer(question: string, text: string): Promise<void> {
    while (!this.output.includes(question)) await sleep(20);
    this.type(text);
  }
}
