import { ServiceError } from './service-error.ts';

const bytesPerCredit = 1024 * 1024;

/**
 * The credit balance, on which storage, delivery and subtitle generation draw (§1). The specification does not show
 * prices. The sandbox charges one credit per started MiB of storage, per playback response, and per subtitle track.
 */
export class Credits {
  #balance: number;

  constructor(balance: number) {
    this.#balance = balance;
  }

  drawStorage(bytes: number): void {
    this.#draw(Math.ceil(bytes / bytesPerCredit));
  }

  drawDelivery(): void {
    this.#draw(1);
  }

  /** @throws ServiceError 402: "When the balance is depleted, a call … may be rejected with 402." (§1) */
  #draw(credits: number): void {
    const details = { balance: this.#balance, needed: credits };
    if (!this.tryDraw(credits)) throw new ServiceError(402, 'the credit balance is depleted', { details });
  }

  /** Returns false if the balance is too low. An upload that triggers subtitles was answered before. */
  tryDraw(credits: number): boolean {
    if (this.#balance < credits) return false;
    this.#balance -= credits;
    return true;
  }
}
