import { asCodedError, type CodedError } from '../../errors.ts';

/**
 * Sends the creations of a run one at a time until the service has named a usable session URL. A service that names a
 * wrong one then leaves one empty asset, not one for each concurrent upload.
 */
export class FirstCreation {
  #isUsable = false;
  #refusal: CodedError | undefined;
  #current: Promise<void> | undefined;

  /**
   * Runs `create`, alone as long as no other creation has succeeded.
   *
   * @throws the error of `create`; `origin_mismatch` of an earlier one, without a request
   */
  async run<T>(create: () => Promise<T>, signal: AbortSignal): Promise<T> {
    while (this.#current && !this.#isUsable) await this.#current;
    signal.throwIfAborted();
    if (this.#refusal) throw this.#refusal;
    if (this.#isUsable) return create();
    let end = () => {};
    this.#current = new Promise((resolve) => {
      end = resolve;
    });
    try {
      const created = await create();
      this.#isUsable = true;
      return created;
    } catch (thrown) {
      const error = asCodedError(thrown);
      // The details name the asset of the file that was tried.
      if (error.explanation.code === 'origin_mismatch') this.#refusal = error.with({ details: undefined });
      throw thrown;
    } finally {
      this.#current = undefined;
      end();
    }
  }
}
