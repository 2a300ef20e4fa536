import { setImmediate as nextTurn } from 'node:timers/promises';
import { fail } from '../errors.ts';

interface Waiting<Entry, Result> {
  readonly entry: Entry;
  done(result: Result): void;
  failed(reason: unknown): void;
}

const batchEntriesMax = 500;
const waitingEntriesMax = 10_000;
/** A batch of this size doesn't wait for more entries: a larger one saves next to nothing. */
const gatheredEntriesMax = 16;

/**
 * Runs one statement for all callers that need it at the same time: those of one turn of the event loop, or those that
 * come while the statement before is under way. A single call runs at once; a busy service makes far fewer round trips.
 */
export class SharedStatement<Entry, Result> {
  readonly #run: (entries: readonly Entry[]) => Promise<readonly Result[]>;
  readonly #busy: () => Promise<void> | undefined;
  readonly #waiting: Waiting<Entry, Result>[] = [];
  #working: Promise<void> | undefined;
  #stopGathering: (() => void) | undefined;

  /**
   * @param run answers a batch, with the result of each entry at its index
   * @param busy undefined when results can be used at once, else a promise of that moment: a small batch waits for it
   */
  constructor(
    run: (entries: readonly Entry[]) => Promise<readonly Result[]>,
    busy: () => Promise<void> | undefined = () => undefined,
  ) {
    this.#run = run;
    this.#busy = busy;
  }

  /**
   * The result for one entry. When the statement fails, every entry of the batch fails.
   * @throws Refusal `unavailable` when too many wait already
   */
  async call(entry: Entry): Promise<Result> {
    if (this.#waiting.length >= waitingEntriesMax)
      fail('unavailable', {}, { headers: { 'retry-after': '1' } });
    return new Promise((done, failed) => {
      this.#waiting.push({ entry, done, failed });
      if (this.#waiting.length >= gatheredEntriesMax) this.#stopGathering?.();
      this.#working ??= this.#work();
    });
  }

  /** Entries that no statement has taken yet. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Resolves when nothing waits any more. */
  async idle(): Promise<void> {
    await this.#working;
  }

  async #work(): Promise<void> {
    while (this.#waiting.length > 0) {
      await nextTurn();
      await this.#gather();
      const batch = this.#waiting.splice(0, batchEntriesMax);
      try {
        const results = await this.#run(batch.map(({ entry }) => entry));
        for (const [index, { done }] of batch.entries()) done(results[index] as Result);
      } catch (error) {
        for (const { failed } of batch) failed(error);
      }
    }
    this.#working = undefined;
  }

  async #gather(): Promise<void> {
    const free = this.#busy();
    if (free === undefined || this.#waiting.length >= gatheredEntriesMax) return;
    const { promise: enough, resolve } = Promise.withResolvers<void>();
    this.#stopGathering = resolve;
    await Promise.race([free, enough]);
    this.#stopGathering = undefined;
  }
}
