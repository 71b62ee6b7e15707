/** Unbounded queue between a producer and one async consumer, which gets all queued items as one batch. */
export class Channel<T> {
  #items: T[] = [];
  #wake = () => {};

  push(item: T): void {
    this.#items.push(item);
    this.#wake();
  }

  /**
   * Starts `work`, and returns a generator of the items that are pushed while it runs. The work goes on even if nothing
   * reads them. The generator awaits it, even if the consumer stops reading.
   */
  streamWhile(work: () => Promise<void>, onClosed = () => {}): AsyncGenerator<T[]> {
    const state = { isDone: false };
    const done = work().finally(() => {
      state.isDone = true;
      this.#wake();
    });
    done.catch(() => {}); // awaited by the generator, after the queued items are consumed
    return this.#itemsUntil(state, done, onClosed);
  }

  async *#itemsUntil(state: { isDone: boolean }, done: Promise<void>, onClosed: () => void): AsyncGenerator<T[]> {
    try {
      while (!state.isDone || this.#items.length > 0) {
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
