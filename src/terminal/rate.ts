import { bytes, duration } from './printable.ts';

/** Bytes a second, of what went out lately. */
export class Rate {
  #at = 0;
  #sent = 0;
  bytesPerSecond = 0;

  add(sent: number, now: number): void {
    const seconds = (now - this.#at) / 1000;
    if (this.#at === 0 || sent < this.#sent) {
      this.#at = now;
      this.#sent = sent;
    } else if (seconds >= 0.5) {
      const current = (sent - this.#sent) / seconds;
      this.bytesPerSecond = this.bytesPerSecond
        ? 0.7 * this.bytesPerSecond + 0.3 * current
        : current;
      this.#at = now;
      this.#sent = sent;
    }
  }

  left(remaining: number): string {
    return this.bytesPerSecond > 0 ? duration(remaining / this.bytesPerSecond) : '–';
  }

  toString(): string {
    return this.bytesPerSecond > 0 ? `${bytes(this.bytesPerSecond)}/s` : '–';
  }
}
