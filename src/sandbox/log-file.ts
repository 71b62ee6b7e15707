import { closeSync, fstatSync, openSync, renameSync, writeSync } from 'node:fs';

/** At most so much twice: what is written now, and the file before it. */
const maxBytes = 8 * 1024 * 1024;

/**
 * The log as a file that does not grow for ever: one that is full becomes `PATH.1`, and takes the
 * place of the one that was. A disk that refuses lines ends nothing; how many it refused is said
 * once it takes them again.
 */
export class LogFile {
  readonly #path: string;
  readonly #maxBytes: number;
  #descriptor: number | undefined;
  #sizeBytes = 0;
  #lost = 0;
  #reason = '';

  /** Nothing is opened before the first line. */
  constructor(path: string, limitBytes = maxBytes) {
    this.#path = path;
    this.#maxBytes = limitBytes;
  }

  write(line: string): void {
    const missed = this.#lost > 0 ? [`${this.#lost} lines were lost: ${this.#reason}`] : [];
    const stamp = new Date().toISOString();
    const text = [...missed, line].map((each) => `${stamp} ${each}\n`).join('');
    try {
      this.#append(Buffer.from(text));
      this.#lost = 0;
    } catch (error) {
      this.#lost++;
      this.#reason = (error as Error).message;
    }
  }

  #append(bytes: Buffer): void {
    if (this.#descriptor === undefined) this.#open();
    if (this.#sizeBytes > 0 && this.#sizeBytes + bytes.length > this.#maxBytes) {
      renameSync(this.#path, `${this.#path}.1`);
      closeSync(this.#descriptor as number);
      this.#descriptor = undefined;
      this.#open();
    }
    this.#sizeBytes += writeSync(this.#descriptor as number, bytes);
  }

  #open(): void {
    this.#descriptor = openSync(this.#path, 'a', 0o600);
    this.#sizeBytes = fstatSync(this.#descriptor).size;
  }
}
