const rateWindowMs = 500;

/** What the agents have met so far. Figures for the person; the proof does not use them. */
export class Tally {
  tasksDone = 0;
  claims = 0;
  /** Duration of every granted claim as its agent saw it. */
  readonly claimMs: number[] = [];
  /** Refusals that an agent gets over by going on with other work, by code. */
  readonly conflicts = new Map<string, number>();
  killed = 0;
  /** Refusals of agents that woke up after their lease was over, by code. */
  readonly stalledRefused = new Map<string, number>();
  /** Stalled writers whose write was accepted: must stay 0. */
  stalledAccepted = 0;
}

/** How many claims a second there were lately; the first call counts from the beginning. */
export class ClaimRate {
  readonly #tally: Tally;
  #sinceMs = performance.now();
  #claims = 0;
  #perSecond = 0;
  #isOver = false;

  constructor(tally: Tally) {
    this.#tally = tally;
  }

  perSecond(): number {
    const nowMs = performance.now();
    if (!this.#isOver && nowMs - this.#sinceMs >= rateWindowMs) {
      this.#perSecond = (1000 * (this.#tally.claims - this.#claims)) / (nowMs - this.#sinceMs);
      this.#sinceMs = nowMs;
      this.#claims = this.#tally.claims;
    }
    return Math.round(this.#perSecond);
  }

  /** From now on it says what was reached over all. */
  showAverage(seconds: number): void {
    this.#perSecond = this.#tally.claims / seconds;
    this.#isOver = true;
  }
}

export function count(codes: Map<string, number>, code: string): void {
  codes.set(code, (codes.get(code) ?? 0) + 1);
}

export function total(codes: ReadonlyMap<string, number>): number {
  return [...codes.values()].reduce((sum, number) => sum + number, 0);
}
