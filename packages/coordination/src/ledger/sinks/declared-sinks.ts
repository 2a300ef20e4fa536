import { createHash } from 'node:crypto';
import type { Pool } from '@baton/kernel/database/db';
import type { Job, JobTools } from '../../service/job.ts';
import type { Context } from '../context.ts';
import { declareSinks, deleteDeclared, deleteOldFilters, findDeclared } from './declared-sinks.sql.ts';
import type { Sink } from './sink.ts';

/** How often a worker declares its sinks again: a sink that no worker has declared for ten minutes is not in use. */
const touchPauseMs = 60_000;

export interface Declaration {
  /**
   * Resolves when the sinks have been declared in the database: any event distributed before that would not reach them.
   */
  readonly made: () => Promise<void>;
  /** Repeats the declaration. */
  readonly job: Job;
}

/**
 * Declares the sinks of this worker's file in the database, so that every worker distributes events to them. A sink
 * remains declared when it is removed from the files: its events stay pending until it is listed again or an entry of
 * type `discard` names it.
 */
export function declare(
  { pool, log }: Pick<JobTools<Context>, 'pool' | 'log'>,
  sinks: readonly Sink[],
): Declaration {
  const rows = sinks.map(({ name, filter: { tenants, typePatterns }, eventsMax }) => ({
    name,
    filter_digest: createHash('sha256')
      .update(JSON.stringify([tenants, typePatterns]))
      .digest('hex'),
    tenants,
    type_patterns: typePatterns,
    events_max: eventsMax ?? null,
  }));
  let nextAt = 0;
  let making: Promise<void> | undefined;
  const made = () => {
    making ??= touch(true).catch((error: unknown) => {
      making = undefined;
      throw error;
    });
    return making;
  };
  return { made, job: { name: 'outbox sinks', batchMax: 1, run } };

  async function run(): Promise<number> {
    await made();
    if (performance.now() < nextAt) return 0;
    await touch(false);
    await pool.run(deleteOldFilters());
    nextAt = performance.now() + touchPauseMs;
    return 0;
  }

  async function touch(isStart: boolean): Promise<void> {
    const there = rows.length === 0 ? [] : await pool.rows(declareSinks(rows, isStart));
    const discarded = sinks.map(({ name }) => name).filter((name) => !there.some((row) => row.name === name));
    if (discarded.length > 0)
      log.error(
        { sinks: discarded },
        'sinks of CP_SINKS_FILE get no events: the file of another worker discards them',
      );
  }
}

/** Stops distribution to these sinks, until a worker that starts declares them again. */
export async function undeclare(pool: Pool, names: readonly string[]): Promise<void> {
  await pool.run(deleteDeclared(names));
}

/** The names of all declared sinks, and whether no worker has declared them in the last ten minutes. */
export async function declaredSinks(pool: Pool): Promise<{ name: string; isForgotten: boolean }[]> {
  const rows = await pool.rows(findDeclared());
  return rows.map(({ name, is_forgotten }) => ({ name, isForgotten: is_forgotten }));
}
