const rateWindowMs = 500;

/** Counters reported by the agents, for display only: the proof does not use them. */
export class Tally {
  claims = 0;
  /** Duration of every granted claim, measured by its agent. */
  readonly claimMs: number[] = [];
  /** Conflicts after which an agent moved on to another task, by code. */
  readonly conflicts = new Map<string, number>();
  killed = 0;
  /** Refusals of agents that resumed after their lease had expired, by code. */
  readonly stalledRefused = new Map<string, number>();
  /** Accepted writes of agents whose lease had expired; must stay 0. */
  stalledAccepted = 0;
  /** Approvals that the person gave. */
  approved = 0;
  /** Actions that exceeded a run's budget: those that were refused, and those that were accepted (must stay 0). */
  budgetsRefused = 0;
  budgetsExceeded = 0;
  readonly #doneTaskIds = new Set<string>();
  #tasksInAll: number | undefined;

  /** How many tasks are done. */
  get tasksDone(): number {
    return this.#tasksInAll ?? this.#doneTaskIds.size;
  }

  /**
   * Counts a task as done, but only once: after a successful run, a task is taken again if checks or approvals keep it
   * open.
   */
  addDoneTask(id: string): void {
    this.#doneTaskIds.add(id);
  }

  /**
   * Called when the service has no unfinished tasks left. All tasks then count as done, including those whose agent was
   * killed before it got the response.
   */
  completeAll(tasks: number): void {
    this.#tasksInAll = tasks;
  }
}

/** Claims per second over the last half second or more; the first call counts from the start. */
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

  /** From now on `perSecond` is the average over the whole drain. */
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
