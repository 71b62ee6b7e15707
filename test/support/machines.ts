import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { mediactl, type StartedProcess } from './spawn.ts';
import { temporaryFolder } from './temporary-folder.ts';

type Environment = Record<string, string | undefined>;

/** Starts mediactl processes on one queue, each with its own home; the end of the test kills them. */
export class Machines {
  readonly #environment: Environment;
  readonly #root: string;
  readonly #running = new Set<StartedProcess>();
  readonly #outputs: string[] = [];

  /** @param root directory that workers may read */
  constructor(environment: Environment, address: string, root: string) {
    this.#environment = { ...environment, MEDIACTL_QUEUE: address };
    this.#root = root;
    onTestFinished(({ task }) => this.#end(task.result?.state === 'fail'));
  }

  run(args: readonly string[], environment: Environment = {}): StartedProcess {
    const home = temporaryFolder();
    const started = mediactl(args, {
      MEDIACTL_STATE_DIR: join(home, 'state'),
      MEDIACTL_CONFIG_DIR: join(home, 'config'),
      ...this.#environment,
      ...environment,
    });
    this.#running.add(started);
    started.finished.then(({ code, signal, stderr }) => {
      this.#running.delete(started);
      this.#outputs.push(`${args.join(' ')}: ${signal ?? `exit ${code}`}\n${stderr}`);
    });
    return started;
  }

  worker(args: readonly string[] = [], environment: Environment = {}): StartedProcess {
    return this.run(['queue', 'work', '--jsonl', '--root', this.#root, ...args], environment);
  }

  upload(paths: readonly string[], args: readonly string[] = []): StartedProcess {
    const always = ['--queue', '--jsonl', '--progress', 'none'];
    return this.run(['upload', '--flatten', ...paths, ...always, ...args]);
  }

  /** Runs a command with --json and parses stdout; throws unless it exits with 0. */
  async json(args: readonly string[], environment: Environment = {}) {
    const { code, stdout, stderr } = await this.run([...args, '--json'], environment).finished;
    if (code !== 0) throw new Error(`${args.join(' ')}: exit ${code}: ${stderr}`);
    return JSON.parse(stdout);
  }

  /** Kills all processes. @param hasFailed print the stderr of each process, since the test has failed */
  async #end(hasFailed: boolean): Promise<void> {
    const all = [...this.#running];
    for (const { child } of all) {
      child.kill('SIGCONT');
      child.kill('SIGKILL');
    }
    await Promise.all(all.map(({ finished }) => finished));
    if (hasFailed) console.error(this.#outputs.join('\n'));
  }
}

/** Polls until the condition is true. */
export async function waitUntil(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let ms = 20; !(await condition()); ms = Math.min(2 * ms, 250)) await pause(ms);
}

/** Resolves once the process's stderr contains a text. */
export const waitForStderr = ({ child }: StartedProcess, expected: string): Promise<void> => {
  let stderr = '';
  return new Promise((resolve) => {
    child.stderr?.on('data', (text) => {
      stderr += text;
      if (stderr.includes(expected)) resolve();
    });
  });
};

export const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

export const parseJsonLines = (stdout: string) =>
  stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
