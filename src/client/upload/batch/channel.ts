/** Unbounded queue between a producer and one async consumer, which gets all queued items as one batch. */
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
   * Yields the items that are pushed while `work` runs, and ends when `work` does.
   *
   * @param onClosed called when the consumer stops reading or all items are read; `work` is awaited in either case
   */
  async *streamWhile(work: () => Promise<void>, onClosed = () => {}): AsyncGenerator<T[]> {
    const done = work().finally(() => this.close());
    done.catch(() => {}); // awaited below, after the queued items are consumed
    try {
      yield* this;
    } finally {
      onClosed();
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
