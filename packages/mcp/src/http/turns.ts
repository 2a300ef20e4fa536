/**
 * Lets callers go on one after another: one in each turn of the event loop, and the callers of different parties in turn. All
 * of Baton runs in this process, so work that comes at once would keep everybody waiting until the last of it is done: 64
 * requests for the list of tools by one token made others wait 4 s, and take 20 ms this way.
 */
export class Turns {
  /** In the order of whose turn it is. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #isScheduled = false;

  /** Resolves when it is the party's turn. What is done before the next await of a network or timer is one turn. */
  take(party: string): Promise<void> {
    return new Promise((resolve) => {
      const queue = this.#waiting.get(party);
      if (queue === undefined) this.#waiting.set(party, [resolve]);
      else queue.push(resolve);
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#next());
  }

  #next(): void {
    this.#isScheduled = false;
    const [first] = this.#waiting;
    if (first === undefined) return;
    const [party, queue] = first;
    queue.shift()?.();
    this.#waiting.delete(party);
    // Back to the end: the others come first.
    if (queue.length > 0) this.#waiting.set(party, queue);
    if (this.#waiting.size > 0) this.#schedule();
  }
}
