import { setImmediate as nextTurn } from 'node:timers/promises';
import { fail } from '../errors.ts';

interface Waiting<Entry, Result> {
  readonly entry: Entry;
  done(result: Result): void;
  failed(reason: unknown): void;
}

const batchEntriesMax = 500;
const waitingEntriesMax = 10_000;
/** So many are company enough: a larger batch saves next to nothing. */
const gatheredEntriesMax = 16;

/**
 * One statement for all who need it at the same time: those who come in one turn of the event loop, or while one is
 * under way. A call on its own runs at once, so nobody waits for company; a busy service makes far fewer round trips.
 */
export class SharedStatement<Entry, Result> {
  readonly #run: (entries: readonly Entry[]) => Promise<readonly Result[]>;
  readonly #busy: () => Promise<void> | undefined;
  readonly #waiting: Waiting<Entry, Result>[] = [];
  #working: Promise<void> | undefined;
  #enough: (() => void) | undefined;

  /**
   * @param run answers a batch: the result of each entry at its place
   * @param busy a promise of when the results can be used, undefined for now: until then a small batch gathers company
   */
  constructor(
    run: (entries: readonly Entry[]) => Promise<readonly Result[]>,
    busy: () => Promise<void> | undefined = () => undefined,
  ) {
    this.#run = run;
    this.#busy = busy;
  }

  /**
   * The result for one entry. A failure is that of everybody in the batch.
   * @throws Refusal `unavailable` when too many wait already
   */
  async call(entry: Entry): Promise<Result> {
    if (this.#waiting.length >= waitingEntriesMax)
      fail('unavailable', {}, { headers: { 'retry-after': '1' } });
    return new Promise((done, failed) => {
      this.#waiting.push({ entry, done, failed });
      if (this.#waiting.length >= gatheredEntriesMax) this.#enough?.();
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
    this.#enough = resolve;
    await Promise.race([free, enough]);
    this.#enough = undefined;
  }
}

/** Rows that carry the place of their question, counted from 1, as one answer for each question. */
export function answersByPlace<Row extends { place: number }>(
  questions: readonly unknown[],
  rows: readonly Row[],
): (Row | undefined)[] {
  const answers: (Row | undefined)[] = questions.map(() => undefined);
  for (const row of rows) answers[row.place - 1] = row;
  return answers;
}
