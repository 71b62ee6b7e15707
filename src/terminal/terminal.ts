import type { Readable, Writable } from 'node:stream';
import { Chalk, type ChalkInstance } from 'chalk';
import { exitCodes, MediactlError } from '../errors.ts';
import { printableLines } from './printable.ts';
import { Redactor } from './redaction.ts';

export type OutputStream = Writable & { isTTY?: boolean; columns?: number };
export type InputStream = Readable & { isTTY?: boolean };

export type TerminalOptions = {
  /** Opened by who reads it: that alone costs a command 3 ms. */
  stdin: () => InputStream;
  stdout: OutputStream;
  stderr: OutputStream;
  environment: Record<string, string | undefined>;
};

/** The reader of our stdout has left (`| head`): no error, and nothing more to say. */
export class OutputClosed extends Error {}

/** The streams, and what may be done on them. stdout carries the result, nothing else. */
export class Terminal {
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly redactor = new Redactor();
  readonly #environment: TerminalOptions['environment'];
  readonly #openStdin: () => InputStream;
  #color: 'auto' | 'always' | 'never' = 'auto';
  #noInput = false;
  #stdoutError: NodeJS.ErrnoException | undefined;

  constructor({ stdin, stdout, stderr, environment }: TerminalOptions) {
    this.#openStdin = stdin;
    this.stdout = stdout;
    this.stderr = stderr;
    this.#environment = environment;
    stdout.on('error', (error) => {
      this.#stdoutError ??= error;
    });
    // Nobody reads our warnings: nothing can be said about that, and nothing is lost by it.
    stderr.on('error', () => {});
  }

  configure(settings: { color: 'auto' | 'always' | 'never'; noInput: boolean }): void {
    this.#color = settings.color;
    this.#noInput = settings.noInput;
  }

  get stdin(): InputStream {
    return this.#openStdin();
  }

  /** A person sits at this terminal and may be asked. */
  get isInteractive(): boolean {
    return Boolean(
      this.stdin.isTTY && this.stderr.isTTY && !this.isCi && !this.#noInput && !this.#isDumb,
    );
  }

  get isCi(): boolean {
    const { CI } = this.#environment;
    return CI !== undefined && CI !== '' && CI !== '0' && CI !== 'false';
  }

  /** A bar or a spinner may redraw its line on stderr. Some terminals of CI have no width at all. */
  get canAnimate(): boolean {
    return Boolean(this.stderr.isTTY && this.stderr.columns) && !this.isCi && !this.#isDumb;
  }

  get columns(): number {
    return this.stdout.columns || 80;
  }

  get #isDumb(): boolean {
    return this.#environment.TERM === 'dumb';
  }

  /** Colours for a stream, or none: --color, NO_COLOR, FORCE_COLOR, and whether it is a terminal. */
  colors(stream: OutputStream): ChalkInstance {
    const { NO_COLOR, FORCE_COLOR } = this.#environment;
    const auto = NO_COLOR
      ? false
      : FORCE_COLOR
        ? FORCE_COLOR !== '0'
        : Boolean(stream.isTTY) && !this.#isDumb;
    const on = this.#color === 'auto' ? auto : this.#color === 'always';
    return new Chalk({ level: on ? 1 : 0 });
  }

  /** The one place that writes results. Waits while the pipe is full; throws once it is closed. */
  async write(text: string | Uint8Array): Promise<void> {
    await new Promise<void>((resolve) => this.stdout.write(text, () => resolve()));
    const error = this.#stdoutError;
    if (error?.code === 'EPIPE' || error?.code === 'ERR_STREAM_DESTROYED') throw new OutputClosed();
    if (error)
      throw new MediactlError('cannot write the result', {
        code: 'output',
        exitCode: exitCodes.unclassified,
        reason: error.message,
        underlying: error,
      });
  }

  /**
   * Lines beside the result: a notice, a hint. Secrets are masked, and whatever could drive the
   * terminal is spelled out, whoever's words they are.
   */
  say(text: string): void {
    this.sayStyled(printableLines(text));
  }

  /** Like `say`, for lines that carry colours of our own: words of others in them must be printable. */
  sayStyled(text: string): void {
    this.stderr.write(`${this.redactor.redact(text)}\n`);
  }

  warn(text: string): void {
    this.sayStyled(`${this.colors(this.stderr).yellow('warning:')} ${printableLines(text)}`);
  }
}
