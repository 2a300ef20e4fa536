import type { JobTools } from '../../service/job.ts';
import type { Context } from '../context.ts';
import type { Sink } from '../sinks/sink.ts';
import { deleteOldest, moveToSinks, type ScannedRow } from './outbox.sql.ts';
import { createScan } from './scan.ts';

/** Moving a row costs little: some 20,000 in a second. */
const rowsMax = 1000;

/** Empties the outbox. @returns whether there may be more */
export type Distribute = () => Promise<boolean>;

/**
 * Hands what the outbox holds to the sinks that want it, or only deletes it where there is none. Several loops may ask: one
 * does it, and the others wait for that.
 */
export function createDistribution(
  { pool, settings }: Pick<JobTools<Context>, 'pool' | 'settings'>,
  sinks: readonly Sink[],
): Distribute {
  const scan = createScan(0);
  const eventsMax = settings.CP_OUTBOX_BATCH_SIZE;
  const recipients = sinks.map(({ name, filter }) => ({ name, ...filter }));
  const statementAfter = (after: number) =>
    sinks.length === 0
      ? deleteOldest(rowsMax, after)
      : moveToSinks({ rowsMax, eventsMax, recipients }, after);
  let underWay: Promise<boolean> | undefined;
  return () => {
    underWay ??= distribute().finally(() => {
      underWay = undefined;
    });
    return underWay;
  };

  async function distribute(): Promise<boolean> {
    const { handled } = await scan(async (after) => {
      const { handled, newest } = (await pool.row(statementAfter(after))) as ScannedRow;
      return { handled, newest: newest ?? undefined };
    });
    return handled >= rowsMax;
  }
}
