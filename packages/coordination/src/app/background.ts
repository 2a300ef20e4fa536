import { randomBytes } from 'node:crypto';
import type { Pool } from '@baton/kernel/db';
import type { Logger } from '@baton/kernel/log';
import { readMigrations } from '@baton/kernel/migrate';
import { Registry } from 'prom-client';
import { poolOf } from './app.ts';
import { nobody } from '../service/caller.ts';
import type { Settings } from './settings.ts';
import type { JobTools } from '../service/job.ts';
import type { Context } from './context.ts';
import { createCounters } from '../service/counters.ts';
import { createHealth } from './health/health.ts';
import { flushEvents } from '../ledger/journal/journal.ts';
import { migrationsDirectory } from '../service/migrations.ts';
import { createNotifier } from './stream/notifier.ts';

export type WorkerTools = JobTools<Context>;

export type BackgroundParts = Pick<
  Context,
  'settings' | 'log' | 'counters' | 'health' | 'publishBindingChange'
> & {
  readonly pool: Pool;
  wake(tenantId: string): void;
};

/** Opens what a process without requests works with: the worker, and the commands of the operator. */
export async function openBackground(
  settings: Settings,
  log: Logger,
  applicationName: string,
): Promise<{ tools: WorkerTools; close(): Promise<void> }> {
  const headRevision = (await readMigrations(migrationsDirectory)).length;
  const registry = new Registry();
  const pool = poolOf(settings, log, applicationName);
  const notifier = createNotifier({ pool, log });
  const tools = workerTools({
    settings,
    log,
    counters: createCounters(registry),
    pool,
    health: createHealth({ db: pool, registry, headRevision, log }),
    wake: notifier.announceJournal,
    publishBindingChange: notifier.announceBinding,
  });
  return {
    tools,
    async close() {
      await notifier.close();
      await pool.close();
    },
  };
}

export function workerTools(parts: BackgroundParts): WorkerTools {
  const { settings, log, counters, health, pool, wake, publishBindingChange } = parts;
  const traceRunId = `run_${randomBytes(16).toString('hex')}`;
  return {
    settings,
    log,
    counters,
    pool,
    async command(job, tenantId, work) {
      const { context, result } = await pool.transaction(async (tx) => {
        const context: Context = {
          db: tx,
          transactional: true,
          caller: { ...nobody, tenantId },
          tenantId,
          settings,
          log,
          counters,
          health,
          endpoint: `worker ${job}`,
          requestId: 'worker',
          correlationId: `worker-${job}`,
          traceRunId,
          drafts: [],
          wroteEvents: false,
          afterCommit: [],
          publishBindingChange,
        };
        const result = await work(context);
        await flushEvents(context);
        return { context, result };
      });
      for (const act of context.afterCommit) act();
      if (context.wroteEvents) wake(tenantId);
      return result;
    },
  };
}
