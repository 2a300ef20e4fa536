import type { Pool } from '../database/db.ts';
import { Refusal } from '../http/refusal.ts';

export interface ConcurrencyBounds {
  /** The maximum of concurrent turns per key. */
  readonly runningMax: number;
  /** The maximum number of waiting turns per key. */
  readonly queuedMax: number;
  readonly waitMsMax: number;
}

interface Line {
  running: number;
  /** Wakes the waiting, oldest first. */
  readonly queue: Set<() => void>;
}

/** Limits what of one key (a tenant, a principal, a source) runs at once in this process; the rest waits its turn. */
export class ConcurrencyLimit {
  readonly #bounds: ConcurrencyBounds;
  readonly #subject: string;
  /** An entry exists only while work of its key is running. */
  readonly #lines = new Map<string, Line>();

  /** @param subject the calls that are refused when the queue is full, for the log: `reads of the tenant` */
  constructor(subject: string, bounds: ConcurrencyBounds) {
    this.#subject = subject;
    this.#bounds = bounds;
  }

  /**
   * Takes a turn; `leave` returns it.
   * @returns undefined if there is room, so that the usual case waits for nothing; otherwise a promise of the turn
   * @throws Refusal `unavailable` with Retry-After, at once when the queue is full, or after `waitMsMax`
   */
  enter(key: string): Promise<void> | undefined {
    const line = this.#lines.get(key);
    if (line === undefined) {
      this.#lines.set(key, { running: 1, queue: new Set() });
      return undefined;
    }
    if (line.running < this.#bounds.runningMax) {
      line.running += 1;
      return undefined;
    }
    if (line.queue.size >= this.#bounds.queuedMax) throw this.#refusal();
    return this.#wait(line);
  }

  leave(key: string): void {
    const line = this.#lines.get(key);
    if (line === undefined) return;
    const [wakeNext] = line.queue;
    // The turn is passed on, so `running` stays as it is.
    if (wakeNext !== undefined) return wakeNext();
    line.running -= 1;
    if (line.running === 0) this.#lines.delete(key);
  }

  /** Runs work in a turn of its own. @throws as `enter`, and whatever `work` throws */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    await this.enter(key);
    try {
      return await work();
    } finally {
      this.leave(key);
    }
  }

  #wait({ queue }: Line): Promise<void> {
    return new Promise((resolve, reject) => {
      const wake = () => {
        clearTimeout(timer);
        queue.delete(wake);
        resolve();
      };
      const timer = setTimeout(() => {
        queue.delete(wake);
        reject(this.#refusal());
      }, this.#bounds.waitMsMax);
      queue.add(wake);
    });
  }

  #refusal(): Refusal {
    const reason = `too many ${this.#subject}`;
    return new Refusal('unavailable', {}, { headers: { 'retry-after': '1' }, reason });
  }
}

/** A turn in several limits, taken one after another in their order. */
export class Turns {
  readonly #limits: readonly (readonly [ConcurrencyLimit, string])[];

  constructor(...limits: (readonly [ConcurrencyLimit, string])[]) {
    this.#limits = limits;
  }

  /** @returns undefined where each has room at once. @throws as `ConcurrencyLimit.enter`; then nothing is held */
  enter(from = 0): Promise<void> | undefined {
    for (let at = from; at < this.#limits.length; at += 1) {
      const [limit, key] = this.#limits[at] as readonly [ConcurrencyLimit, string];
      try {
        const turn = limit.enter(key);
        if (turn !== undefined) return this.#enterRest(turn, at);
      } catch (error) {
        this.#leave(at);
        throw error;
      }
    }
    return undefined;
  }

  leave(): void {
    this.#leave(this.#limits.length);
  }

  async #enterRest(turn: Promise<void>, at: number): Promise<void> {
    try {
      await turn;
    } catch (error) {
      this.#leave(at);
      throw error;
    }
    await this.enter(at + 1);
  }

  #leave(count: number): void {
    for (let at = 0; at < count; at += 1) {
      const [limit, key] = this.#limits[at] as readonly [ConcurrencyLimit, string];
      limit.leave(key);
    }
  }
}

/**
 * The same pool, where each statement outside a transaction waits for a turn of its own: for a caller that takes no
 * turn as a whole. Its statements throw as `ConcurrencyLimit.enter` too.
 */
export function poolInTurns(pool: Pool, limit: ConcurrencyLimit, key: string): Pool {
  return {
    ...pool,
    rows: (statement) => limit.run(key, () => pool.rows(statement)),
    row: (statement) => limit.run(key, () => pool.row(statement)),
    run: (statement) => limit.run(key, () => pool.run(statement)),
  };
}

/**
 * Runs the read of a credential in its turn. @throws Refusal `unavailable` when too many wait; whatever `read` throws
 */
export type CredentialReads = <T>(read: () => Promise<T>) => Promise<T>;

/** The share of the connections: with both kinds in a service, the calls of admitted callers still find half of them. */
const credentialReadsShare = 0.25;
/**
 * More than other lines have: a process that was just started knows no callers, and waiting requests have sent only their headers.
 */
const credentialReadsQueuedMax = 2000;

/**
 * Limits how many credentials of one kind are read at once in this process. Their senders are not known yet, so they
 * share one line: a flood of unknown ones must not hold every connection.
 */
export function limitCredentialReads(connectionsMax: number): CredentialReads {
  const limit = new ConcurrencyLimit('credentials to be read', {
    runningMax: Math.max(1, Math.floor(connectionsMax * credentialReadsShare)),
    queuedMax: credentialReadsQueuedMax,
    waitMsMax: 5000,
  });
  return (read) => limit.run('', read);
}
