/** Hands on what comes at any time to somebody who takes it when it can: all that is there at once. */
export class Channel<T> {
  #items: T[] = [];
  #isClosed = false;
  #wake = () => {};

  push(item: T): void {
    this.#items.push(item);
    this.#wake();
  }

  close(): void {
    this.#isClosed = true;
    this.#wake();
  }

  /**
   * Hands on what comes while work goes on, and ends with it.
   *
   * @param left called where the reader leaves, or all has come: the work is awaited in any case
   */
  async *during(work: () => Promise<void>, left = () => {}): AsyncGenerator<T[]> {
    const done = work().finally(() => this.close());
    done.catch(() => {}); // awaited below, once what came before is told
    try {
      yield* this;
    } finally {
      left();
      await done;
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T[]> {
    for (;;) {
      if (this.#items.length > 0) {
        const items = this.#items;
        this.#items = [];
        yield items;
      } else if (this.#isClosed) return;
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }
}
