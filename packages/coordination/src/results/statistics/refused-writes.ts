import type { Pool } from '@baton/kernel/database/db';
import type { Refusal } from '@baton/kernel/http/refusal';
import type { Logger } from '@baton/kernel/process/log';
import { type Caller, nobody } from '../../service/caller.ts';
import type { Job, JobTools } from '../../service/job.ts';
import type { Context } from '../context.ts';
import { deleteRefusedWrites, insertRefusedWrites, type RefusedWriteCount } from './refused-writes.sql.ts';

/** The codes of writes that were refused because the writer's claim or run had ended. */
export const lateWriteCodes: readonly string[] = ['stale_claim', 'run_not_active'];

/** How long a count stays in memory: a killed process loses the counts of this time. */
const flushMs = 1000;
/**
 * The maximum number of claims and runs in memory. One more causes these to be stored at once; while earlier counts are
 * being stored, it isn't counted.
 */
const countsMax = 1000;
/** The maximum number of entries of one principal. */
const ofPrincipalMax = 100;

interface Counted extends Omit<RefusedWriteCount, 'ageSeconds'> {
  count: number;
  readonly firstAt: number;
}

/**
 * Counts refused late writes for `GET /statistics/leases`. A refusal only changes a number in memory; a timer adds the
 * numbers to the database, in a statement of its own. Counts that can't be stored are dropped, because they must not
 * accumulate while the database is unavailable.
 */
export class RefusedWrites {
  readonly #pool: Pool;
  readonly #log: Logger;
  #counts = new Map<string, Counted>();
  #timer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> | undefined;
  #isClosed = false;

  constructor(pool: Pool, log: Logger) {
    this.#pool = pool;
    this.#log = log;
  }

  /** @param caller undefined if the request was refused before its credential was verified */
  count({ code, details }: Refusal, caller: Caller | undefined): void {
    if (caller === undefined || caller === nobody || this.#isClosed || !lateWriteCodes.includes(code)) return;
    const { claimId = null, runId = null } = details as { claimId?: string | null; runId?: string | null };
    if (claimId === null && runId === null) return;
    const { tenantId, principalId } = caller;
    const key = [tenantId, principalId, claimId, runId].join();
    const counted = this.#counts.get(key);
    if (counted !== undefined) {
      counted.count += 1;
      return;
    }
    if (this.#isFull(`${tenantId},${principalId},`)) return;
    if (this.#counts.size >= countsMax) void this.#flush();
    if (this.#counts.size >= countsMax) return;
    this.#counts.set(key, { tenantId, principalId, claimId, runId, count: 1, firstAt: performance.now() });
    this.#schedule();
  }

  /** Whether a principal has as many entries as one may have: its invented claims must not displace those of others. */
  #isFull(prefix: string): boolean {
    let own = 0;
    for (const key of this.#counts.keys()) if (key.startsWith(prefix)) own += 1;
    return own >= ofPrincipalMax;
  }

  /** Stores the last counts. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#flushing;
    await this.#flush();
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.#flush();
    }, flushMs).unref();
  }

  /** One statement at a time: while it runs, the next counts wait in memory. */
  #flush(): Promise<void> {
    if (this.#flushing !== undefined || this.#counts.size === 0) return this.#flushing ?? Promise.resolve();
    const counts = [...this.#counts.values()];
    this.#counts = new Map();
    this.#flushing = this.#store(counts).finally(() => {
      this.#flushing = undefined;
      if (this.#counts.size > 0 && !this.#isClosed) this.#schedule();
    });
    return this.#flushing;
  }

  async #store(counts: readonly Counted[]): Promise<void> {
    const now = performance.now();
    try {
      await this.#pool.run(
        insertRefusedWrites(
          counts.map(({ firstAt, ...counted }) => ({ ...counted, ageSeconds: (now - firstAt) / 1000 })),
        ),
      );
    } catch (error) {
      this.#log.warn({ err: error, claims: counts.length }, 'counts of refused late writes were lost');
    }
  }
}

/** Longer than the longest range plus the time for which its figures are likely to be of interest. */
const storedDays = 400;
const batchMax = 1000;
const pauseMs = 600_000;

/** Deletes counts of refused writes after 400 days. */
export function deleteOldRefusedWrites({ pool }: JobTools<Context>): Job {
  let nextAt = 0;
  return {
    name: 'counts of refused writes',
    batchMax,
    async run() {
      if (performance.now() < nextAt) return 0;
      const deleted = await pool.run(deleteRefusedWrites(storedDays, batchMax));
      if (deleted < batchMax) nextAt = performance.now() + pauseMs;
      return deleted;
    },
  };
}
