/**
 * Runs a bounded number of tasks at once. The others wait in a queue per key, in the order of arrival; the keys take
 * turns, so that a thousand tasks of one key don't delay others.
 */
export class Limiter {
  readonly #runningMax: number;
  /** Only keys with a queue; the first key has the next turn. */
  readonly #lines = new Map<string, Line>();
  #running = 0;

  constructor(runningMax: number) {
    this.#runningMax = runningMax;
  }

  async run<T>(key: string, task: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#runningMax) await new Promise<void>((start) => this.#wait(key, start));
    else this.#running += 1;
    try {
      return await task();
    } finally {
      // The next task takes this one's slot, so that a new task can't overtake queued ones.
      const startNext = this.#next();
      if (startNext !== undefined) startNext();
      else this.#running -= 1;
    }
  }

  #wait(key: string, start: () => void): void {
    const line = this.#lines.get(key);
    if (line === undefined) this.#lines.set(key, [start]);
    else line.push(start);
  }

  #next(): (() => void) | undefined {
    const [first] = this.#lines;
    if (first === undefined) return undefined;
    const [key, line] = first;
    const start = line.shift();
    this.#lines.delete(key);
    if (line.length > 0) this.#lines.set(key, line);
    return start;
  }
}

type Line = (() => void)[];
