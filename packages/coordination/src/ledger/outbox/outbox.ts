import type { Job, JobTools } from '../../service/job.ts';
import type { Context } from '../context.ts';
import type { Sinks } from '../sinks/open-sinks.ts';
import { deliverTo } from './delivery-job.ts';
import { createDistribution } from './distribution.ts';
import { deleteDiscarded, findSinksInUse } from './outbox.sql.ts';

type Tools = Pick<JobTools<Context>, 'pool' | 'settings' | 'log'>;

/** Deleting what waits for a sink that is no more. */
const discardedRowsMax = 1000;

/**
 * The jobs that empty the outbox (core, section 19): one for each sink, so that none waits for another. Where there is no
 * sink, rows are only deleted.
 */
export function deliverOutbox(tools: Tools, { open, discarded }: Sinks): Job[] {
  const distribute = createDistribution(tools, open);
  const delivering = open.map((sink) => deliverTo(sink, distribute, tools));
  const emptying: Job = { name: 'outbox', batchMax: 1, run: async () => ((await distribute()) ? 1 : 0) };
  return [
    ...(open.length === 0 ? [emptying] : delivering),
    ...(discarded.length === 0 ? [] : [discard(tools, discarded)]),
    watchForgotten(tools, [...open.map(({ name }) => name), ...discarded]),
  ];
}

function discard({ pool, log }: Tools, sinks: readonly string[]): Job {
  return {
    name: 'outbox discard',
    batchMax: discardedRowsMax,
    async run() {
      const gone = await pool.row(deleteDiscarded(sinks, discardedRowsMax));
      if (gone !== undefined && gone.deleted > 0)
        log.warn({ sinks, events: gone.events }, 'events of sinks that are no more were thrown away');
      return gone?.deleted ?? 0;
    },
  };
}

const forgottenPauseMs = 600_000;

/** What waits for a sink that the file does not name holds back the retention of its tenants. */
function watchForgotten({ pool, log }: Tools, known: readonly string[]): Job {
  let nextAt = 0;
  return {
    name: 'outbox forgotten',
    batchMax: 1,
    async run() {
      if (performance.now() < nextAt) return 0;
      const inUse = await pool.rows(findSinksInUse());
      nextAt = performance.now() + forgottenPauseMs;
      const sinks = inUse.map(({ sink }) => sink).filter((name) => !known.includes(name));
      if (sinks.length > 0)
        log.warn(
          { sinks },
          'events wait for sinks that CP_SINKS_FILE does not name: name them, or discard them',
        );
      return 0;
    },
  };
}
