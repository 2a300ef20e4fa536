import type { Pool } from '../database/db.ts';
import { Refusal } from '../http/refusal.ts';

export interface ConcurrencyBounds {
  /** The maximum number of concurrent slots per key. */
  readonly runningMax: number;
  /** The maximum number of queued requests per key. */
  readonly queuedMax: number;
  readonly waitMsMax: number;
}

interface Line {
  running: number;
  /** Wakes the queued requests, oldest first. */
  readonly queue: Set<() => void>;
}

/** Limits the concurrent work per key (a tenant, a principal, a source) in this process; the rest is queued. */
export class ConcurrencyLimit {
  readonly #bounds: ConcurrencyBounds;
  readonly #subject: string;
  /** An entry exists only while work for its key is running. */
  readonly #lines = new Map<string, Line>();

  /**
   * @param subject what is limited, for the log entries of refused calls: `reads of the tenant`
   */
  constructor(subject: string, bounds: ConcurrencyBounds) {
    this.#subject = subject;
    this.#bounds = bounds;
  }

  /**
   * Acquires a slot; `leave` releases it. @returns undefined if a slot is free, so that the usual case doesn't wait;
   * otherwise a promise of the slot
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
    // The slot is passed on, so `running` doesn't change.
    if (wakeNext !== undefined) return wakeNext();
    line.running -= 1;
    if (line.running === 0) this.#lines.delete(key);
  }

  /** Runs work in its own slot. @throws what `enter` throws, and whatever `work` throws */
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

/** A slot in each of several limits, acquired one after another in the given order. */
export class Turns {
  readonly #limits: readonly (readonly [ConcurrencyLimit, string])[];

  constructor(...limits: (readonly [ConcurrencyLimit, string])[]) {
    this.#limits = limits;
  }

  /**
   * @returns undefined if every limit has a free slot. @throws like `ConcurrencyLimit.enter`; no slot is then held
   */
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
 * The same pool, but each statement outside a transaction waits for its own slot. Used for a request that has no slot
 * as a whole. The statements also throw what `ConcurrencyLimit.enter` throws.
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
 * Runs the read of a credential in a slot. @throws Refusal `unavailable` when too many reads wait; also whatever `read`
 * throws
 */
export type CredentialReads = <T>(read: () => Promise<T>) => Promise<T>;

/**
 * The share of the pool's connections per kind of credential: even with two kinds, half of the pool remains for
 * authenticated callers.
 */
const credentialReadsShare = 0.25;
/**
 * Longer than other queues, because a process that has just started has no cached callers. Waiting requests have sent
 * only their headers, so they use little memory.
 */
const credentialReadsQueuedMax = 2000;

/**
 * Limits the concurrent reads of credentials of one kind in this process. Their senders are not known yet, so they
 * share one queue: a flood of unknown credentials must not use every connection.
 */
export function limitCredentialReads(connectionsMax: number): CredentialReads {
  const limit = new ConcurrencyLimit('credentials to be read', {
    runningMax: Math.max(1, Math.floor(connectionsMax * credentialReadsShare)),
    queuedMax: credentialReadsQueuedMax,
    waitMsMax: 5000,
  });
  return (read) => limit.run('', read);
}
