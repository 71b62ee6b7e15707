import type { Readable, Writable } from 'node:stream';
import { Chalk, type ChalkInstance } from 'chalk';
import { exitCodes, MediactlError } from '../../client/errors.ts';
import { escapeControlsInLines } from '../../contract/sanitize.ts';
import type { OutputOptions } from '../settings/output-options.ts';
import type { Pager } from './pager.ts';
import { Redactor } from './redactor.ts';

export type OutputStream = Writable & { isTTY?: boolean; columns?: number; rows?: number };
export type InputStream = Readable & { isTTY?: boolean };

type TerminalSettings = {
  color: 'auto' | 'always' | 'never';
  noInput: boolean;
  outputOptions: Pick<OutputOptions, 'format'>;
  /** Pager command; undefined uses PAGER, `cat` or an empty string disables paging. */
  pager: string | undefined;
};

export type TerminalOptions = {
  /** Aborts when the program is interrupted; cancels open questions. */
  interruption?: AbortSignal;
  /** Opens stdin lazily, since that alone costs 3 ms. */
  stdin: () => InputStream;
  stdout: OutputStream;
  stderr: OutputStream;
  environment: Record<string, string | undefined>;
};

/** Thrown when the reader of stdout has closed it (`| head`, a pager that was quit). Not an error: output just stops. */
export class OutputClosed extends Error {}

/** Standard streams of the program: colors, paging, redaction. stdout carries the result, nothing else. */
export class Terminal {
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly redactor = new Redactor();
  readonly interruption: AbortSignal | undefined;
  readonly #environment: TerminalOptions['environment'];
  readonly #openStdin: () => InputStream;
  #color: 'auto' | 'always' | 'never' = 'auto';
  #noInput = false;
  #isQuiet = false;
  #pagerCommand: string | undefined;
  #paging: PagerBuffer | undefined;
  #redirect: ((line: string) => void) | undefined;
  #stdoutError: NodeJS.ErrnoException | undefined;

  constructor({ stdin, stdout, stderr, environment, interruption }: TerminalOptions) {
    this.interruption = interruption;
    this.#openStdin = stdin;
    this.stdout = stdout;
    this.stderr = stderr;
    this.#environment = environment;
    stdout.on('error', (error) => {
      this.#stdoutError ??= error;
    });
    // A closed stderr cannot be reported anywhere, and loses warnings only.
    stderr.on('error', () => {});
  }

  configure(settings: TerminalSettings): void {
    this.#color = settings.color;
    this.#noInput = settings.noInput;
    this.#isQuiet = settings.outputOptions.format === 'quiet';
    this.#pagerCommand = settings.pager;
  }

  get stdin(): InputStream {
    return this.#openStdin();
  }

  /** True if the user can be prompted: a terminal, no CI, no --no-input. */
  get isInteractive(): boolean {
    return Boolean(
      this.stdin.isTTY && this.stderr.isTTY && !this.isCi && !this.#noInput && !this.#isDumb,
    );
  }

  get isCi(): boolean {
    const { CI } = this.#environment;
    return CI !== undefined && CI !== '' && CI !== '0' && CI !== 'false';
  }

  /** True if progress bars and spinners may redraw lines on stderr. Some CI terminals have no width. */
  get canAnimate(): boolean {
    return Boolean(this.stderr.isTTY && this.stderr.columns) && !this.isCi && !this.#isDumb;
  }

  get columns(): number {
    return this.stdout.columns || 80;
  }

  get rows(): number {
    return this.stdout.rows || 24;
  }

  get #isDumb(): boolean {
    return this.#environment.TERM === 'dumb';
  }

  /** Returns the colors for a stream, by --color, NO_COLOR, FORCE_COLOR and whether it is a terminal. */
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

  /** Writes a part of the result to stdout. Waits for back-pressure. @throws OutputClosed if the pipe is closed */
  async write(text: string | Uint8Array): Promise<void> {
    if (this.#paging) await this.#writePaged(this.#paging, text);
    else await this.#writeOut(text);
  }

  /**
   * Runs `work` and sends its output to the user's pager once it is longer than the terminal; otherwise
   * to stdout.
   */
  async withPager(work: () => Promise<void>): Promise<void> {
    if (!this.#pagerToUse) return work();
    const paging: PagerBuffer = { chunks: [], lines: 0, pager: undefined };
    this.#paging = paging;
    let hasRun = true;
    try {
      await work();
    } finally {
      const { pager } = paging;
      if (pager) hasRun = await pager.close();
      this.#paging = undefined;
      if (!hasRun) this.warn(`the pager cannot be run: ${this.#pagerToUse}`);
      if (!pager || !hasRun) for (const text of paging.chunks) await this.#writeOut(text);
    }
  }

  /** True while a pager is running and owns the keyboard. */
  get isPaging(): boolean {
    return this.#paging?.pager?.hasExited === false;
  }

  /** Command line of the pager; undefined if output is not paged. */
  get #pagerToUse(): string | undefined {
    const { PAGER } = this.#environment;
    const command = (this.#pagerCommand ?? PAGER ?? '').trim();
    const isFor = this.stdout.isTTY && !this.isCi && !this.#isDumb;
    return isFor && command !== '' && command !== 'cat' ? command : undefined;
  }

  /** Buffers output until it is longer than the terminal, then starts the pager; the buffer is kept in case it cannot run. */
  async #writePaged(paging: PagerBuffer, text: string | Uint8Array): Promise<void> {
    paging.chunks.push(text);
    if (typeof text === 'string') paging.lines += text.split('\n').length - 1;
    if (paging.pager) return this.#writeToPager(paging.pager, text);
    if (paging.lines < this.rows) return;
    const { Pager: Opened } = await import('./pager.ts');
    paging.pager = new Opened(this.#pagerToUse as string, this.#environment);
    await this.#writeToPager(paging.pager, paging.chunks.join(''));
  }

  /** Writes to the pager. @throws OutputClosed if the user has quit it */
  async #writeToPager(pager: Pager, text: string | Uint8Array): Promise<void> {
    await pager.write(text);
    if (pager.hasExited && (await pager.close())) throw new OutputClosed();
  }

  async #writeOut(text: string | Uint8Array): Promise<void> {
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
   * Prints a notice or a hint to stderr, unless --quiet. Secrets are masked and control characters
   * escaped, since lines contain text of the service.
   */
  info(text: string): void {
    if (!this.#isQuiet) this.emit(text);
  }

  /** Prints a warning to stderr, unless --quiet. */
  warn(text: string): void {
    if (!this.#isQuiet)
      this.emitStyled(
        `${this.colors(this.stderr).yellow('warning:')} ${escapeControlsInLines(text)}`,
      );
  }

  /** Prints to stderr even with --quiet: errors, traces, the list that a question refers to. */
  emit(text: string): void {
    this.emitStyled(escapeControlsInLines(text));
  }

  /** Like `emit`, for lines with colors: the caller must escape text from outside. */
  emitStyled(text: string): void {
    const line = `${this.redactor.redact(text)}\n`;
    if (this.#redirect) this.#redirect(line);
    else this.stderr.write(line);
  }

  /** Redirects stderr lines to a live display, which prints them above itself; undefined restores stderr. */
  redirectLines(above: ((line: string) => void) | undefined): void {
    this.#redirect = above;
  }

  /** Restores cursor and line wrapping, which a live display has switched off, before an immediate exit. */
  restore(): void {
    if (this.#redirect) this.stderr.write(`${showCursor}${wrapLines}\n`);
  }
}

const [showCursor, wrapLines] = ['\u001b[?25h', '\u001b[?7h'];

/** Output buffered for the pager; `pager` is set once the output is longer than the terminal. */
type PagerBuffer = { chunks: (string | Uint8Array)[]; lines: number; pager: Pager | undefined };
