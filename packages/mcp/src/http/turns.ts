/**
 * Schedules callers one at a time: one per iteration of the event loop, round robin by party. All of Baton runs in this
 * process, so a burst of work would block every caller until its end. 64 requests for the list of tools with one token
 * delayed other callers by 4 s, with this schedule by 20 ms.
 */
export class Turns {
  /** The parties' queued callbacks, in the order in which the parties take turns. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #isScheduled = false;

  /** Resolves when it is the party's turn. A turn lasts until the work next awaits the network or a timer. */
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
    // Moves the party to the end of the queue.
    if (queue.length > 0) this.#waiting.set(party, queue);
    if (this.#waiting.size > 0) this.#schedule();
  }
}
