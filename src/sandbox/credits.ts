import { ServiceError } from './service-error.ts';

const bytesPerCredit = 1024 * 1024;

/**
 * The credit balance. §1: "Storage, delivery and subtitle generation … draw on the organization's credit balance."
 * The specification does not show prices. The sandbox charges one credit per started MiB of storage, and one credit
 * per playback response.
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

  /**
   * Deducts credits: "When the balance is depleted, a call … may be rejected with 402."
   *
   * @throws ServiceError 402 if the balance is too low
   */
  #draw(credits: number): void {
    if (this.#balance < credits)
      throw new ServiceError(402, 'the credit balance is depleted', {
        details: { balance: this.#balance, needed: credits },
      });
    this.#balance -= credits;
  }
}
