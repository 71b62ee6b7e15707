import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { PassThrough, Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { Context, type Host, openProfileFile } from '../../src/cli/context.ts';
import type { ExitCode } from '../../src/cli/error-hints.ts';
import { libraryPorts } from '../../src/cli/library-ports.ts';
import { buildCommandTree, runProgram } from '../../src/cli/program.ts';
import { resolveSettings } from '../../src/cli/settings/settings.ts';
import { Terminal } from '../../src/cli/terminal/terminal.ts';
import { type Clock, systemClock } from '../../src/shared/clock.ts';
import { isOptionalClock } from './clock.ts';
import { inherited } from './environment.ts';
import { countInProcessRun, executable, mediactlCommand } from './spawn.ts';
import { temporaryFolder } from './temporary-folder.ts';

class BufferedStream extends Writable {
  text = '';
  isTTY: boolean;
  columns: number;

  readonly #onText: (text: string) => void;

  constructor(isTTY: boolean, columns: number, onText: (text: string) => void = () => {}) {
    super();
    this.#onText = onText;
    this.isTTY = isTTY;
    this.columns = columns;
  }

  /** No-op cursor controls of a TTY stream, which the spinner calls; tests look at the text alone. */
  clearLine(): void {}
  cursorTo(): void {}
  moveCursor(): void {}

  /** Error of every write, such as a full disk or a closed pipe. */
  error: Error | undefined;

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error) => void): void {
    if (!this.error) {
      this.text += chunk.toString();
      this.#onText(this.text);
    }
    done(this.error);
  }
}

export type CliOptions = {
  environment?: Record<string, string | undefined>;
  stdin?: string | Buffer | Readable;
  /** Makes all three streams terminals. */
  tty?: boolean;
  columns?: number;
  cwd?: string;
  clock?: Clock;
  signal?: AbortSignal;
  /** Called at every write with the whole output so far. */
  onStdout?: (text: string) => void;
  onStderr?: (text: string) => void;
  /** Reason why the command must run in this process even if the run tests the executable. */
  inProcess?: string;
  /** Error code of every write to stdout. */
  stdoutError?: 'ENOSPC' | 'EPIPE';
};

export type CliResult = { code: ExitCode; stdout: string; stderr: string };

/** Returns true if a test needs the clock that it passes. */
const isOwnClock = (clock: Clock | undefined) =>
  clock !== undefined && clock !== systemClock && !isOptionalClock(clock);

/** Returns true while a test has dropped its root privileges and cannot start a process. */
const isOtherUser = () => process.geteuid?.() !== process.getuid?.();

/** Runs the whole program as a user with a temporary home folder. */
export class Cli {
  readonly home = temporaryFolder();
  readonly #environment: Record<string, string | undefined>;

  constructor(environment: Record<string, string | undefined> = {}) {
    this.#environment = {
      MEDIACTL_CONFIG_DIR: `${this.home}/config`,
      MEDIACTL_STATE_DIR: `${this.home}/state`,
      MEDIACTL_KEY_STORE: 'file',
      NO_PAGER: '1', // the streams of this process are no terminal
      ...environment,
    };
  }

  /**
   * Runs a command in this process, or in a process of the executable if the run tests the executable. A test that
   * passes its own clock or terminals needs this process.
   */
  async run(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
    if (executable) {
      const isBound = options.inProcess ?? (options.tty || isOwnClock(options.clock) || isOtherUser());
      if (!isBound) return this.#spawn(args, options);
      countInProcessRun();
    }
    const { host, stdout, stderr } = this.#open(options);
    const code = await runProgram(args, host);
    return { code, stdout: stdout.text, stderr: stderr.text };
  }

  /** Calls `work` with the context that the function of a subcommand gets, without parsing arguments. */
  async withContext<T>(work: (context: Context) => Promise<T>, options: CliOptions = {}): Promise<T> {
    const { host } = this.#open(options);
    const profiles = openProfileFile(host);
    const config = await profiles.read();
    const settings = resolveSettings(
      {},
      host.environment,
      { cwd: host.cwd, uid: host.processes.uid, warn: () => {} },
      config,
    );
    host.terminal.configure(settings);
    const commandTree = () => buildCommandTree(host.version);
    const context = new Context({ host, settings, profiles, config, commandTree, ports: libraryPorts });
    try {
      return await work(context);
    } finally {
      await context.close();
    }
  }

  #spawn(args: readonly string[], options: CliOptions): Promise<CliResult> {
    const { stdin, stdoutError, signal } = options;
    const full = stdoutError === 'ENOSPC' ? openSync('/dev/full', 'w') : undefined;
    const child = spawn(mediactlCommand[0], [...mediactlCommand.slice(1), ...args], {
      cwd: options.cwd ?? this.home,
      env: { ...inherited, HOME: this.home, ...this.#environment, ...options.environment },
      stdio: ['pipe', full ?? 'pipe', 'pipe'],
    });
    if (full !== undefined) closeSync(full);
    if (stdoutError === 'EPIPE') child.stdout?.destroy();
    child.stdin?.on('error', () => {}); // the command did not read all of stdin
    if (stdin instanceof Readable) stdin.pipe(child.stdin as Writable);
    else if (stdin !== undefined) child.stdin?.end(stdin);
    const onAbort = () => child.kill(signal?.reason?.explanation?.code === 'terminated' ? 'SIGTERM' : 'SIGINT');
    if (signal?.aborted) onAbort();
    signal?.addEventListener('abort', onAbort);
    const output = { stdout: '', stderr: '' };
    const collect = (name: 'stdout' | 'stderr', onText?: (text: string) => void) =>
      child[name]?.setEncoding('utf8').on('data', (text: string) => {
        output[name] += text;
        onText?.(output[name]);
      });
    collect('stdout', options.onStdout);
    collect('stderr', options.onStderr);
    return new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (code) => {
        signal?.removeEventListener('abort', onAbort);
        resolve({ code: code as ExitCode, ...output });
      });
    });
  }

  #open(options: CliOptions) {
    const { tty = false, columns = 100, clock = systemClock } = options;
    const stdin = Object.assign(new PassThrough(), { isTTY: tty });
    if (options.stdin instanceof Readable) options.stdin.pipe(stdin);
    else if (options.stdin !== undefined) stdin.end(options.stdin);
    const stdout = new BufferedStream(tty, columns, options.onStdout);
    const { stdoutError } = options;
    if (stdoutError) stdout.error = Object.assign(new Error(stdoutError), { code: stdoutError });
    const stderr = new BufferedStream(tty, columns, options.onStderr);
    const environment = { ...this.#environment, ...options.environment };
    const host: Host = {
      terminal: new Terminal({ stdin: () => stdin, stdout, stderr, environment }),
      environment,
      cwd: options.cwd ?? this.home,
      clock,
      processes: {
        pid: process.pid,
        uid: process.getuid?.(),
        execPath: process.execPath,
        signal: (pid, signal) => void process.kill(pid, signal),
      },
      signal: options.signal ?? new AbortController().signal,
      directories: { config: `${this.home}/config`, state: `${this.home}/state` },
      version: '0.0.0-test',
      sandboxProgram: fileURLToPath(new URL('../../dist/sandbox.cjs', import.meta.url)),
      keychainProgram: fileURLToPath(new URL('../../dist/keychain.cjs', import.meta.url)),
      scriptFolder: fileURLToPath(new URL('../../dist', import.meta.url)),
    };
    return { host, stdout, stderr };
  }

  /** Runs a command with --json and parses stdout; throws unless it exits with 0. */
  // biome-ignore lint/suspicious/noExplicitAny: tests assert on its shape
  async json(args: readonly string[], options: CliOptions = {}): Promise<any> {
    const { code, stdout, stderr } = await this.run([...args, '--json'], options);
    if (code !== 0) throw new Error(`exit ${code}: ${stderr}`);
    return JSON.parse(stdout);
  }
}
