import { closeSync, fstatSync, openSync, renameSync, writeSync } from 'node:fs';

/** Maximum size of one log file in bytes. There are two files, the current and the rotated one. */
const maxBytes = 8 * 1024 * 1024;

/**
 * A log file, which is renamed to `PATH.1` at the size limit. Disk errors never stop the service. Once writing works
 * again, the number of lost lines is logged.
 */
export class LogFile {
  readonly #path: string;
  readonly #maxBytes: number;
  #descriptor: number | undefined;
  #sizeBytes = 0;
  #lostLines = 0;
  #reason = '';

  constructor(path: string, limitBytes = maxBytes) {
    this.#path = path;
    this.#maxBytes = limitBytes;
  }

  write(line: string): void {
    const missed = this.#lostLines > 0 ? [`${this.#lostLines} lines were lost: ${this.#reason}`] : [];
    const stamp = new Date().toISOString();
    try {
      this.#append(Buffer.from([...missed, line].map((each) => `${stamp} ${each}\n`).join('')));
      this.#lostLines = 0;
    } catch (error) {
      this.#lostLines++;
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
