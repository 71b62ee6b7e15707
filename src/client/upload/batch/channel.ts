/** Unbounded queue between a producer and one async consumer, which gets all queued items as one batch. */
export class Channel<T> {
  #items: T[] = [];
  #wake = () => {};

  push(item: T): void {
    this.#items.push(item);
    this.#wake();
  }

  /** Yields the items that are pushed while `work` runs. Awaits `work`, even if the consumer stops reading. */
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
