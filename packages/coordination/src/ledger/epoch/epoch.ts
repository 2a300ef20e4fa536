import { type Db, sqlState } from '@baton/kernel/db';
import type { Logger } from '@baton/kernel/log';
import {
  begin,
  commit,
  type EpochRow,
  findCluster,
  findEpoch,
  lockEpoch,
  lockJournal,
  rollback,
  updateCluster,
  updateOffset,
} from './epoch.sql.ts';

/**
 * How far positions jump when the cluster changes. A restored dump, or a promoted copy, doesn't know the last positions
 * and cursors of its predecessor; no cluster makes this many transactions in between. A journal position stays a safe
 * integer over 8,000 such jumps.
 */
export const epochGap = 2 ** 40;

const undefinedTable = '42P01';

/**
 * Makes sure that positions assigned by this connection's cluster are above all that were ever assigned (core, section
 * 17.2: a cursor never skips). To be run on every new connection before its first statement: a fail-over or a restore
 * ends all connections, so none can write into the journal of another cluster without this check.
 */
export async function enterEpoch(db: Db, log: Logger): Promise<void> {
  const cluster = await clusterOf(db);
  const epoch = await epochOf(db, cluster);
  if (epoch === undefined || isEntered(epoch, cluster)) return;
  await db.run(begin);
  try {
    const locked = (await db.row(lockEpoch(cluster))) as EpochRow;
    // The first start: there is no cursor that could be overtaken.
    if (locked.cluster === null && !locked.is_behind) await db.run(updateCluster(cluster));
    else if (!isEntered(locked, cluster)) {
      await db.run(lockJournal);
      const raised = await db.row(updateOffset(cluster, epochGap));
      log.warn(
        { from: locked.cluster, to: cluster, positionOffset: raised?.position_offset },
        'the database runs in another cluster than before: journal positions continue above the old ones',
      );
    }
    await db.run(commit);
  } catch (error) {
    await db.run(rollback);
    throw error;
  }
}

function isEntered(epoch: EpochRow, cluster: string | null): boolean {
  return cluster === null ? !epoch.is_behind : epoch.cluster === cluster;
}

/** Null where the database doesn't allow the question: then only positions that run backwards are noticed. */
async function clusterOf(db: Db): Promise<string | null> {
  try {
    return (await db.row(findCluster))?.cluster ?? null;
  } catch (error) {
    const state = sqlState(error) ?? '';
    if (['42501', '0A000', '55000', '42883'].includes(state)) return null;
    throw error;
  }
}

/** Undefined on a database without the schema. */
async function epochOf(db: Db, cluster: string | null): Promise<EpochRow | undefined> {
  try {
    return await db.row(findEpoch(cluster));
  } catch (error) {
    if (sqlState(error) === undefinedTable) return undefined;
    throw error;
  }
}
