import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from '@baton/kernel/database/sql';
import type { TestCoordination } from '../../../testing/coordination.ts';
import { startProcess } from '../../../testing/programs/service-processes.ts';

/** The number of times that work was interrupted. */
export interface Kills {
  processes: number;
  transactions: number;
}

const workersAtOnce = 2;

/**
 * Runs workers in separate processes, kills each with SIGKILL after a random time and starts the next one; it also
 * terminates their transactions at random moments, as when a connection is lost.
 * @param random a number from 0 to just below 1
 * @returns a function that ends all workers, and returns the number of times that work was interrupted
 */
export function killAtRandom(baton: TestCoordination, random: () => number): () => Promise<Kills> {
  const kills: Kills = { processes: 0, transactions: 0 };
  let isOver = false;
  const lives = async () => {
    while (!isOver) {
      const worker = await startProcess('worker', baton.env);
      const endsAtMs = performance.now() + 500 + random() * 6000;
      while (!isOver && performance.now() < endsAtMs) await sleep(20);
      await worker.stop('SIGKILL');
      kills.processes += 1;
    }
  };
  const cuts = async () => {
    while (!isOver) {
      await sleep(random() * 80);
      const cut = await baton.pool.rows(sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name = 'baton-worker' and xact_start is not null
          and state in ('active', 'idle in transaction')
        order by xact_start desc limit 1`);
      kills.transactions += cut.length;
    }
  };
  const all = [...Array.from({ length: workersAtOnce }, lives), cuts()];
  return async () => {
    isOver = true;
    await Promise.all(all);
    return kills;
  };
}
