import type { Job, JobTools } from '../../service/job.ts';
import type { Context } from '../context.ts';
import { declare, declaredSinks, undeclare } from '../sinks/declared-sinks.ts';
import type { Sinks } from '../sinks/open-sinks.ts';
import { deliverTo } from './delivery-job.ts';
import { createDistribution } from './distribution.ts';
import { deleteDiscarded, deleteDropped, findSinksInUse } from './outbox.sql.ts';

type Tools = Pick<JobTools<Context>, 'pool' | 'settings' | 'log'>;

/** Rows per batch of the jobs that delete discarded and dropped deliveries. */
const deletedRowsMax = 1000;

/**
 * The jobs that empty the outbox, and one job per sink, so that sinks don't wait for each other. Without a sink, rows
 * are only deleted. See docs/reference/journal.md#sinks.
 */
export function deliverOutbox(tools: Tools, { open, discarded }: Sinks): Job[] {
  const declaration = declare(tools, open);
  const distribute = createDistribution(tools, declaration.made);
  const delivering = open.map((sink) => deliverTo(sink, distribute, tools));
  const emptying: Job = { name: 'outbox', batchMax: 1, run: async () => ((await distribute()) ? 1 : 0) };
  return [
    declaration.job,
    ...(open.length === 0 ? [emptying] : delivering),
    ...(discarded.length === 0 ? [] : [discard(tools, discarded)]),
    watchForgotten(tools, [...open.map(({ name }) => name), ...discarded]),
    sweepDropped(tools),
  ];
}

/** No index covers the sink alone, and usually there is nothing to delete. */
const discardPauseMs = 10_000;

function discard({ pool, log }: Tools, sinks: readonly string[]): Job {
  let nextAt = 0;
  return {
    name: 'outbox discard',
    batchMax: deletedRowsMax,
    async run() {
      if (performance.now() < nextAt) return 0;
      await undeclare(pool, sinks);
      const gone = await pool.row(deleteDiscarded(sinks, deletedRowsMax));
      if (!gone?.deleted) nextAt = performance.now() + discardPauseMs;
      if (gone !== undefined && gone.deleted > 0)
        log.warn({ sinks, events: gone.events }, 'undelivered events of discarded sinks were deleted');
      return gone?.deleted ?? 0;
    },
  };
}

/** Deletes dropped deliveries after a delay, so that a repeated `:drop` still finds them. */
function sweepDropped({ pool, settings }: Tools): Job {
  return {
    name: 'outbox dropped',
    batchMax: deletedRowsMax,
    run: () => pool.run(deleteDropped(settings.CP_OUTBOX_DROPPED_AGE_SECONDS, deletedRowsMax)),
  };
}

const forgottenPauseMs = 600_000;

/**
 * Reports sinks that are in no worker's file but have undelivered events, because these block the retention of their
 * tenants.
 */
function watchForgotten({ pool, log }: Tools, known: readonly string[]): Job {
  let nextAt = 0;
  return {
    name: 'outbox forgotten',
    batchMax: 1,
    async run() {
      if (performance.now() < nextAt) return 0;
      const declared = await declaredSinks(pool);
      const inUse = await pool.rows(findSinksInUse());
      nextAt = performance.now() + forgottenPauseMs;
      const undeclared = inUse.filter(({ sink }) => declared.every(({ name }) => name !== sink));
      const sinks = [
        ...declared.filter(({ isForgotten }) => isForgotten).map(({ name }) => name),
        ...undeclared.map(({ sink }) => sink),
      ].filter((name) => !known.includes(name));
      if (sinks.length > 0)
        log.warn(
          { sinks },
          'undelivered events wait for sinks that are in no CP_SINKS_FILE of a worker: add the sinks, or discard them',
        );
      return 0;
    },
  };
}
