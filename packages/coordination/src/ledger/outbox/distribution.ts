import type { JobTools } from '../../service/job.ts';
import type { Context } from '../context.ts';
import { moveToSinks, type ScannedRow } from './outbox.sql.ts';
import { createScan } from './scan.ts';

/** Moving rows is cheap: about 20,000 per second. */
const rowsMax = 1000;

/** Empties the outbox. @returns whether there may be more */
export type Distribute = () => Promise<boolean>;

/**
 * Moves the outbox to all sinks that are declared in the database and subscribe to its events. Concurrent callers share
 * one run.
 * @param declared resolves when this worker's own sinks are declared
 */
export function createDistribution(
  { pool, settings }: Pick<JobTools<Context>, 'pool' | 'settings'>,
  declared: () => Promise<void>,
): Distribute {
  const scan = createScan(0);
  const eventsMax = settings.CP_OUTBOX_BATCH_SIZE;
  let underWay: Promise<boolean> | undefined;
  return () => {
    underWay ??= distribute().finally(() => {
      underWay = undefined;
    });
    return underWay;
  };

  async function distribute(): Promise<boolean> {
    await declared();
    const { handled } = await scan(async (after) => {
      const { handled, newest } = (await pool.row(moveToSinks({ rowsMax, eventsMax }, after))) as ScannedRow;
      return { handled, newest: newest ?? undefined };
    });
    return handled >= rowsMax;
  }
}
