import type { Readable, Writable } from 'node:stream';
import { Chalk, type ChalkInstance } from 'chalk';
import { OutputFailed } from '../../client/errors.ts';
import { isWindows } from '../../shared/platform.ts';
import { escapeControlsInLines } from '../../shared/sanitize.ts';
import type { OutputOptions } from '../settings/output-options.ts';
import type { SuggestionProfile } from '../settings/settings.ts';
import type { Pager } from './pager.ts';
import { Redactor } from './redactor.ts';
import { wrapText } from './wrap.ts';

export type OutputStream = Writable & { isTTY?: boolean; columns?: number; rows?: number };
export type InputStream = Readable & { isTTY?: boolean };

type TerminalSettings = {
  noInput: boolean;
  outputOptions: Pick<OutputOptions, 'format'>;
  suggestion: SuggestionProfile | undefined;
  /** Pager command. If it is undefined, PAGER is used, or else `less`. `cat` or an empty string disables paging. */
  pager: string | undefined;
};

/** A notice, warning or error as one line of a log. `path` names the file that it is about. */
export type LogEntry = { level: 'info' | 'warn' | 'error'; message: string; path?: string; [field: string]: unknown };

export type TerminalOptions = {
  /** Aborts when the program is interrupted, which cancels open prompts. */
  interruption?: AbortSignal;
  /** Opened lazily, since opening stdin takes 3 ms. */
  stdin: () => InputStream;
  /** Opens the terminal that controls the process, if there is one. */
  openTty?: (() => InputStream | undefined) | undefined;
  stdout: OutputStream;
  stderr: OutputStream;
  environment: Record<string, string | undefined>;
};

/** Runs `less` if it is installed, and exits with 127 if not, without a message of the shell. */
const defaultPager = isWindows ? '' : 'command -v less >/dev/null 2>&1 || exit 127; exec less';

/**
 * Thrown when the reader of stdout has closed it, such as `| head` or a pager that the user has quit. Not reported
 * as an error; the output just stops.
 */
export class OutputClosed extends Error {}

/** The program's standard streams, with colors, paging and redaction. Only the result is written to stdout. */
export class Terminal {
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly redactor = new Redactor();
  readonly interruption: AbortSignal | undefined;
  readonly #environment: TerminalOptions['environment'];
  readonly #openStdin: () => InputStream;
  readonly #openTty: TerminalOptions['openTty'];
  /** True if answers are not read from stdin, which has the input of the command. */
  #asksOnTty = false;
  #tty: InputStream | undefined;
  #noInput = false;
  #isQuiet = false;
  #pagerCommand: string | undefined;
  #paging: PagerBuffer | undefined;
  #redirect: ((line: string) => void) | undefined;
  /** Writes an entry of the log that a service keeps in place of text for a user. */
  log: ((entry: LogEntry) => void) | undefined;
  #stdoutError: NodeJS.ErrnoException | undefined;

  constructor({ stdin, openTty, stdout, stderr, environment, interruption }: TerminalOptions) {
    this.interruption = interruption;
    this.#openStdin = stdin;
    this.#openTty = openTty;
    this.stdout = stdout;
    this.stderr = stderr;
    this.#environment = environment;
    stdout.on('error', (error) => {
      this.#stdoutError ??= error;
    });
    // A closed stderr cannot be reported anywhere, and only warnings are lost.
    stderr.on('error', () => {});
  }

  configure(settings: TerminalSettings): void {
    this.#noInput = settings.noInput;
    this.#isQuiet = settings.outputOptions.format === 'uid';
    this.#pagerCommand = settings.pager;
    this.redactor.profile = settings.suggestion;
  }

  get stdin(): InputStream {
    return this.#openStdin();
  }

  /** Reads answers from the terminal itself, if there is one: stdin is a pipe with the input of the command. */
  askOnTty(): void {
    this.#asksOnTty = !this.stdin.isTTY;
  }

  get answers(): InputStream {
    if (this.#asksOnTty) this.#tty ??= this.#openTty?.();
    return this.#tty ?? this.stdin;
  }

  /** Closes the terminal after a question, so that the program can end. */
  closeTty(): void {
    this.#tty?.destroy();
    this.#tty = undefined;
  }

  /** True if the user can be prompted: on a terminal, not in CI, and without --no-input. */
  get isInteractive(): boolean {
    return Boolean(this.answers.isTTY && this.stderr.isTTY && !this.isCi && !this.#noInput && !this.#isDumb);
  }

  get isCi(): boolean {
    const { CI } = this.#environment;
    return CI !== undefined && CI !== '' && CI !== '0' && CI !== 'false';
  }

  /** True if lines on stderr can be redrawn, as progress bars need. Some CI terminals have no width. */
  get canAnimate(): boolean {
    return Boolean(this.stderr.isTTY && this.stderr.columns) && !this.isCi && !this.#isDumb;
  }

  get columns(): number {
    return this.stdout.columns || 80;
  }

  get #isDumb(): boolean {
    return this.#environment.TERM === 'dumb';
  }

  /**
   * Returns the color functions for a stream. They add colors depending on NO_COLOR, FORCE_COLOR and whether the stream is
   * a terminal.
   */
  colors(stream: OutputStream): ChalkInstance {
    const { NO_COLOR, FORCE_COLOR } = this.#environment;
    const on = NO_COLOR ? false : FORCE_COLOR ? FORCE_COLOR !== '0' : Boolean(stream.isTTY) && !this.#isDumb;
    return new Chalk({ level: on ? 1 : 0 });
  }

  /**
   * Writes a part of the result to stdout or to the pager, with backpressure.
   *
   * @throws OutputClosed if the reader has closed stdout or the user has quit the pager
   */
  async write(text: string | Uint8Array): Promise<void> {
    if (this.#paging) await this.#writePaged(this.#paging, text);
    else await this.#writeOut(text);
  }

  /** Runs `work` and sends its output to the user's pager if it is longer than the terminal, otherwise to stdout. */
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
      if (!hasRun && this.#pagerToUse !== defaultPager) this.warn(`cannot run the pager: ${this.#pagerToUse}`);
      if (!pager || !hasRun) for (const text of paging.chunks) await this.#writeOut(text);
    }
  }

  /** True while a pager is running and owns the keyboard. */
  get isPaging(): boolean {
    return this.#paging?.pager?.hasExited === false;
  }

  get #pagerToUse(): string | undefined {
    const { PAGER, NO_PAGER } = this.#environment;
    if (NO_PAGER || !this.stdout.isTTY || this.isCi || this.#isDumb) return undefined;
    const command = (this.#pagerCommand ?? PAGER ?? defaultPager).trim();
    return command !== '' && command !== 'cat' ? command : undefined;
  }

  /**
   * Buffers output until it is longer than the terminal, then starts the pager. Keeps the buffer so that it can be
   * written to stdout if the pager cannot be run.
   */
  async #writePaged(paging: PagerBuffer, text: string | Uint8Array): Promise<void> {
    paging.chunks.push(text);
    if (typeof text === 'string') paging.lines += text.split('\n').length - 1;
    if (paging.pager) return this.#writeToPager(paging.pager, text);
    if (paging.lines < (this.stdout.rows || 24)) return;
    const { Pager: Opened } = await import('./pager.ts');
    paging.pager = new Opened(this.#pagerToUse as string, this.#environment);
    await this.#writeToPager(paging.pager, paging.chunks.join(''));
  }

  /** Writes to the pager. @throws OutputClosed if the user has quit the pager */
  async #writeToPager(pager: Pager, text: string | Uint8Array): Promise<void> {
    await pager.write(text);
    if (pager.hasExited && (await pager.close())) throw new OutputClosed();
  }

  async #writeOut(text: string | Uint8Array): Promise<void> {
    await new Promise<void>((resolve) =>
      this.stdout.write(text, (error) => {
        if (error) this.#stdoutError ??= error; // its event may come later
        resolve();
      }),
    );
    const error = this.#stdoutError;
    if (error?.code === 'EPIPE' || error?.code === 'ERR_STREAM_DESTROYED') throw new OutputClosed();
    if (error)
      throw new OutputFailed('cannot write the result', {
        code: 'write_failed',
        reason: error.message,
        underlying: error,
      });
  }

  /**
   * Prints a notice or a hint to stderr, unless --quiet is set. Masks secrets and escapes control characters, since
   * the text can come from the service. Its commands name the profile, if it is not the current one.
   */
  info(text: string): void {
    const message = this.redactor.nameProfile(text);
    if (this.log) this.log({ level: 'info', message });
    else if (!this.#isQuiet) this.emit(message);
  }

  warn(text: string): void {
    const message = this.redactor.nameProfile(text);
    if (this.log) this.log({ level: 'warn', message });
    else if (!this.#isQuiet)
      this.emitStyled(`${this.colors(this.stderr).yellow('warning:')} ${escapeControlsInLines(message)}`);
  }

  /** Prints to stderr even with --quiet, for errors, traces and lists that a prompt refers to. */
  emit(text: string): void {
    this.emitStyled(escapeControlsInLines(text));
  }

  /** Prints colored text like `emit`, wrapped at spaces on a terminal. The caller must escape control characters in text from outside. */
  emitStyled(text: string): void {
    const { isTTY, columns } = this.stderr;
    this.#emitLines(isTTY && columns ? wrapText(text, columns) : text);
  }

  /** Prints one JSON value per line, which is never wrapped. */
  emitJson(json: string): void {
    this.#emitLines(escapeControlsInLines(json));
  }

  #emitLines(text: string): void {
    const lines = `${this.redactor.redact(text)}\n`;
    if (this.#redirect) this.#redirect(lines);
    else this.stderr.write(lines);
  }

  /** Redirects lines for stderr to a live display, which prints them above itself; undefined ends this. */
  redirectLines(above: ((line: string) => void) | undefined): void {
    this.#redirect = above;
  }

  /** Restores the cursor and line wrapping, which a live display turns off, before an immediate exit. */
  restore(): void {
    if (this.#redirect) this.stderr.write(`${showCursor}${wrapLines}\n`);
  }
}

const [showCursor, wrapLines] = ['\u001b[?25h', '\u001b[?7h'];

/** Output buffered for the pager. `pager` is set once the output is longer than the terminal. */
type PagerBuffer = { chunks: (string | Uint8Array)[]; lines: number; pager: Pager | undefined };
