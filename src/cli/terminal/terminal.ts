import type { Readable, Writable } from 'node:stream';
import { Chalk, type ChalkInstance } from 'chalk';
import { exitCodes, MediactlError } from '../../client/errors.ts';
import { printableLines } from '../../contract/sanitize.ts';
import type { Shape } from '../settings/format.ts';
import type { Pager } from './pager.ts';
import { Redactor } from './redaction.ts';

export type OutputStream = Writable & { isTTY?: boolean; columns?: number; rows?: number };
export type InputStream = Readable & { isTTY?: boolean };

type TerminalSettings = {
  color: 'auto' | 'always' | 'never';
  noInput: boolean;
  shape: Pick<Shape, 'format'>;
  /** Undefined for PAGER; `cat` or nothing for none. */
  pager: string | undefined;
};

export type TerminalOptions = {
  /** Aborts where the program is to end: questions end with it. */
  interruption?: AbortSignal;
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
  readonly interruption: AbortSignal | undefined;
  readonly #environment: TerminalOptions['environment'];
  readonly #openStdin: () => InputStream;
  #color: 'auto' | 'always' | 'never' = 'auto';
  #noInput = false;
  #isQuiet = false;
  #pagerCommand: string | undefined;
  #paging: Paging | undefined;
  #above: ((line: string) => void) | undefined;
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
    // Nobody reads our warnings: nothing can be said about that, and nothing is lost by it.
    stderr.on('error', () => {});
  }

  configure(settings: TerminalSettings): void {
    this.#color = settings.color;
    this.#noInput = settings.noInput;
    this.#isQuiet = settings.shape.format === 'quiet';
    this.#pagerCommand = settings.pager;
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

  get rows(): number {
    return this.stdout.rows || 24;
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
    if (this.#paging) await this.#writePaged(this.#paging, text);
    else await this.#writeOut(text);
  }

  /**
   * What is written while `work` goes on goes to the person's pager, once it is longer than the
   * terminal; stdout elsewhere.
   */
  async paged(work: () => Promise<void>): Promise<void> {
    if (!this.#pagedBy) return work();
    const paging: Paging = { held: [], lines: 0, pager: undefined };
    this.#paging = paging;
    let isRun = true;
    try {
      await work();
    } finally {
      const { pager } = paging;
      if (pager) isRun = await pager.close();
      this.#paging = undefined;
      if (!isRun) this.warn(`the pager cannot be run: ${this.#pagedBy}`);
      if (!pager || !isRun) for (const text of paging.held) await this.#writeOut(text);
    }
  }

  /** The pager is there, and has the keyboard. */
  get isPaging(): boolean {
    return this.#paging?.pager?.hasLeft === false;
  }

  /** The pager's command line, where there is somebody to page for. */
  get #pagedBy(): string | undefined {
    const { PAGER } = this.#environment;
    const command = (this.#pagerCommand ?? PAGER ?? '').trim();
    const isFor = this.stdout.isTTY && !this.isCi && !this.#isDumb;
    return isFor && command !== '' && command !== 'cat' ? command : undefined;
  }

  /** Holds what is written back until it is longer than the terminal; a pager that is not there gets none of it. */
  async #writePaged(paging: Paging, text: string | Uint8Array): Promise<void> {
    paging.held.push(text);
    if (typeof text === 'string') paging.lines += text.split('\n').length - 1;
    if (paging.pager) return this.#writeOn(paging.pager, text);
    if (paging.lines < this.rows) return;
    const { Pager: Opened } = await import('./pager.ts');
    paging.pager = new Opened(this.#pagedBy as string, this.#environment);
    await this.#writeOn(paging.pager, paging.held.join(''));
  }

  /** @throws OutputClosed once the person has left it */
  async #writeOn(pager: Pager, text: string | Uint8Array): Promise<void> {
    await pager.write(text);
    if (pager.hasLeft && (await pager.close())) throw new OutputClosed();
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
   * Lines beside the result: a notice, a hint. Secrets are masked, and whatever could drive the
   * terminal is spelled out, whoever's words they are. --quiet asks for none.
   */
  say(text: string): void {
    if (!this.#isQuiet) this.tell(text);
  }

  warn(text: string): void {
    if (!this.#isQuiet)
      this.tellStyled(`${this.colors(this.stderr).yellow('warning:')} ${printableLines(text)}`);
  }

  /** Like `say`, for what was asked for, or cannot be left unsaid: a question's list, an error, a trace. */
  tell(text: string): void {
    this.tellStyled(printableLines(text));
  }

  /** Like `tell`, for lines that carry colours of our own: words of others in them must be printable. */
  tellStyled(text: string): void {
    const line = `${this.redactor.redact(text)}\n`;
    if (this.#above) this.#above(line);
    else this.stderr.write(line);
  }

  /** While something stands at the foot of the terminal, lines go above it: that is how. */
  standsBelow(above: ((line: string) => void) | undefined): void {
    this.#above = above;
  }

  /** At a sudden end: what stood there hid the cursor and let no line wrap. */
  leave(): void {
    if (this.#above) this.stderr.write(`${showCursor}${wrapLines}\n`);
  }
}

const [showCursor, wrapLines] = ['\u001b[?25h', '\u001b[?7h'];

/** What was written, until it is known that a pager shows it; the pager, once there is more than the terminal shows. */
type Paging = { held: (string | Uint8Array)[]; lines: number; pager: Pager | undefined };
