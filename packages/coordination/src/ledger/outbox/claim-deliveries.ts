import type { JobTools } from '../../service/job.ts';
import type { Context } from '../context.ts';
import { type DueEventRow, type Room, takeDue, type Which } from './deliveries.sql.ts';
import { createScan } from './scan.ts';

export interface Taking {
  /** A batch of what is due. @returns the events of each delivery */
  batch(room: Room): Promise<readonly DueEventRow[][]>;
  /**
   * One delivery, of what was never tried where there is any: a sink that was away is tried with what it has not
   * refused. Each time of another tenant: a sink may refuse all that is one's, and then it is not down for the others.
   */
  first(room: Room): Promise<readonly DueEventRow[][]>;
  /** As `first`, of one tenant. */
  firstOfTenant(tenantId: string, room: Room): Promise<readonly DueEventRow[][]>;
}

/** A statement passes over so many tenants at most. */
const triedMax = 100;

/** Takes what is due for one sink under locks that end by themselves. */
export function createDeliveryClaims(
  sink: string,
  { pool, settings }: Pick<JobTools<Context>, 'pool' | 'settings'>,
): Taking {
  const scan = createScan(0);
  const lockSeconds = settings.CP_OUTBOX_LOCK_TIMEOUT_SECONDS;
  let isMoreAgain = false;
  /** Whose deliveries the sink was tried with since it rests. */
  const tried = new Set<string>();
  return { batch, first, firstOfTenant };

  /**
   * What is due again is looked for where the scan is a full one, or where there was more: its index keeps what was
   * delivered for as long as an old transaction of the cluster is open.
   */
  async function batch({ againMax, newMax, ...which }: Room): Promise<readonly DueEventRow[][]> {
    if (againMax + newMax <= 0) return [];
    tried.clear();
    const { rows } = await scan(async (afterPlace, isFull) => {
      const room = { ...which, newMax, againMax: isFull || isMoreAgain ? againMax : 0 };
      const rows = await pool.rows(takeDue(sink, room, afterPlace, lockSeconds));
      if (room.againMax > 0) isMoreAgain = rows.some(({ is_again }) => is_again);
      const places = rows.flatMap(({ is_again, place }) => (is_again ? [] : [place]));
      return { rows, newest: places.length > 0 ? Math.max(...places) : undefined };
    });
    return byDelivery(rows);
  }

  async function first({ againMax, newMax, ...which }: Room): Promise<readonly DueEventRow[][]> {
    if (againMax + newMax <= 0) return [];
    const others = await firstOf({ ...which, exceptTenants: [...tried] });
    const rows = others ?? (tried.size > 0 ? await firstOf(which) : undefined) ?? [];
    const tenantId = rows[0]?.tenant_id;
    if (tried.size === triedMax || (tenantId !== undefined && tried.has(tenantId))) tried.clear();
    if (tenantId !== undefined) tried.add(tenantId);
    return byDelivery(rows);
  }

  async function firstOfTenant(tenantId: string, { againMax, newMax, ...which }: Room) {
    if (againMax + newMax <= 0) return [];
    return byDelivery((await firstOf({ ...which, onlyTenants: [tenantId] })) ?? []);
  }

  async function firstOf(which: Which): Promise<readonly DueEventRow[] | undefined> {
    for (const room of [
      { againMax: 0, newMax: 1, ...which },
      { againMax: 1, newMax: 0, ...which },
    ]) {
      const rows = await pool.rows(takeDue(sink, room, 0, lockSeconds));
      if (rows.length > 0) return rows;
    }
    return undefined;
  }
}

function byDelivery(rows: readonly DueEventRow[]): DueEventRow[][] {
  return [...Map.groupBy(rows, ({ place, lead }) => `${place} ${lead}`).values()];
}
