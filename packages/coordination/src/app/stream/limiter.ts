/** Runs a bounded number of tasks at once; the others wait in the order in which they came. */
export class Limiter {
  readonly #runningMax: number;
  readonly #queue: (() => void)[] = [];
  #running = 0;

  constructor(runningMax: number) {
    this.#runningMax = runningMax;
  }

  async run<T>(task: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#runningMax) await new Promise<void>((start) => this.#queue.push(start));
    else this.#running += 1;
    try {
      return await task();
    } finally {
      // The next task takes over this one's place, so that a newcomer can't get ahead of the queue.
      const startNext = this.#queue.shift();
      if (startNext !== undefined) startNext();
      else this.#running -= 1;
    }
  }
}
