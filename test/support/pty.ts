import { spawn, spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { inherited } from './environment.ts';

/** util-linux's script(1) gives a process a real terminal. */
export const hasPty = spawnSync('script', ['--version']).status === 0;

/** As a shell takes them. */
export const quoted = (words: readonly string[]) => words.map((word) => `'${word}'`).join(' ');

/** A program on a terminal of its own, and somebody who reads what it shows before typing. */
export class Pty {
  shown = '';
  readonly ended: Promise<number | null>;
  readonly type: (text: string) => void;
  readonly end: () => void;

  constructor(
    command: readonly string[],
    environment: Record<string, string | undefined>,
    columns = 100,
    onText?: (text: string) => void,
  ) {
    const child = spawn(
      'script',
      ['-qefc', `stty cols ${columns}; ${quoted(command)}`, '/dev/null'],
      {
        env: { ...inherited, ...environment },
      },
    );
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.shown += text;
      onText?.(text);
    });
    this.end = () => void child.kill('SIGKILL'); // its terminal goes, and what runs on it
    this.type = (text) => void child.stdin.write(text);
    this.ended = new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (code) => resolve(code));
    });
  }

  /** Types once that is shown; a test that waits for ever ends by its own time limit. */
  async answer(question: string, text: string): Promise<void> {
    while (!this.shown.includes(question)) await sleep(20);
    this.type(text);
  }
}
