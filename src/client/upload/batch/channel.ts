/** Unbounded queue between a producer and one async consumer, which gets all queued items as one batch. */
export class Channel<T> {
  #items: T[] = [];
  #wake = () => {};

  push(item: T): void {
    this.#items.push(item);
    this.#wake();
  }

  /**
   * Yields the items that are pushed while `work` runs, and ends when `work` does.
   *
   * @param onClosed called when the consumer stops reading or all items are read; `work` is awaited in either case
   */
  async *streamWhile(work: () => Promise<void>, onClosed = () => {}): AsyncGenerator<T[]> {
    let isDone = false;
    const done = work().finally(() => {
      isDone = true;
      this.#wake();
    });
    done.catch(() => {}); // awaited below, after the queued items are consumed
    try {
      while (!isDone || this.#items.length > 0) {
        const pushed = new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        if (this.#items.length > 0) yield this.#items.splice(0);
        else await pushed;
      }
    } finally {
      onClosed();
      await done;
    }
  }
}
