import { setImmediate as nextTurn } from 'node:timers/promises';
import { isBlamable } from '../service/blamable.ts';
import { fail } from './errors.ts';

interface Waiting<Entry, Result> {
  readonly entry: Entry;
  done(result: Result): void;
  failed(reason: unknown): void;
}

const batchEntriesMax = 500;
const waitingEntriesMax = 10_000;
/** A batch of this size doesn't wait for more entries: a larger batch saves next to nothing. */
const gatheredEntriesMax = 16;
/**
 * How many entries of failed batches are retried individually at the same time, so that they don't use all connections.
 */
const separateEntriesMax = 2;

/**
 * Runs one statement for all callers that need it at the same time: those of one iteration of the event loop, or those
 * that arrive while the previous statement runs. A single call runs at once; a busy service makes far fewer round
 * trips.
 */
export class SharedStatement<Entry, Result> {
  readonly #run: (entries: readonly Entry[]) => Promise<readonly Result[]>;
  readonly #busy: () => Promise<void> | undefined;
  readonly #waiting: Waiting<Entry, Result>[] = [];
  /** Entries of failed batches, which are tried one by one. There are never more of them than were queued before. */
  readonly #suspects: Waiting<Entry, Result>[] = [];
  #trying = 0;
  #triedAll: PromiseWithResolvers<void> | undefined;
  #working: Promise<void> | undefined;
  #stopGathering: (() => void) | undefined;

  /**
   * @param run executes a batch and returns the result of each entry at its index
   * @param busy returns undefined when results can be used at once, otherwise a promise that resolves when they can; a
   * small batch waits for it
   */
  constructor(
    run: (entries: readonly Entry[]) => Promise<readonly Result[]>,
    busy: () => Promise<void> | undefined = () => undefined,
  ) {
    this.#run = run;
    this.#busy = busy;
  }

  /**
   * The result for one entry. When the statement fails because of an entry, each entry of the batch is tried on its
   * own, so that only the invalid one fails. When the statement fails for another reason, every entry of the batch
   * fails.
   * @throws Refusal `unavailable` if too many entries are waiting already
   */
  async call(entry: Entry): Promise<Result> {
    if (this.waiting >= waitingEntriesMax) fail('unavailable', {}, { headers: { 'retry-after': '1' } });
    return new Promise((done, failed) => {
      this.#waiting.push({ entry, done, failed });
      if (this.#waiting.length >= gatheredEntriesMax) this.#stopGathering?.();
      this.#working ??= this.#work();
    });
  }

  /** Entries that no statement has taken yet. */
  get waiting(): number {
    return this.#waiting.length + this.#suspects.length;
  }

  /** Resolves when nothing is waiting. */
  async idle(): Promise<void> {
    await this.#working;
    await this.#triedAll?.promise;
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
        if (batch.length > 1 && isBlamable(error)) this.#trySeparately(batch);
        else for (const { failed } of batch) failed(error);
      }
    }
    this.#working = undefined;
  }

  /** Runs concurrently with the next batches, which must not wait for this batch's entries. */
  #trySeparately(batch: readonly Waiting<Entry, Result>[]): void {
    this.#suspects.push(...batch);
    this.#triedAll ??= Promise.withResolvers<void>();
    while (this.#trying < separateEntriesMax) {
      this.#trying += 1;
      void this.#trySuspects();
    }
  }

  async #trySuspects(): Promise<void> {
    for (let next = this.#suspects.shift(); next !== undefined; next = this.#suspects.shift()) {
      try {
        next.done((await this.#run([next.entry]))[0] as Result);
      } catch (error) {
        next.failed(error);
      }
    }
    this.#trying -= 1;
    if (this.#trying > 0) return;
    this.#triedAll?.resolve();
    this.#triedAll = undefined;
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
