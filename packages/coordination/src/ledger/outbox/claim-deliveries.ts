import type { JobTools } from '../../service/job.ts';
import type { Context } from '../context.ts';
import { type DueEventRow, type Room, takeDue, type Which } from './deliveries.sql.ts';
import { createScan } from './scan.ts';

export interface DeliveryClaims {
  /** Claims a batch of due deliveries. @returns the events of each delivery */
  batch(room: Room): Promise<readonly DueEventRow[][]>;
  /** Like `batch`, for the tenants whose turn it is, so that one tenant's backlog doesn't delay the others. */
  batchByTurns(room: Room, busyTenants: readonly string[]): Promise<readonly DueEventRow[][]>;
  /**
   * Claims one delivery, preferably a new one, because a paused sink is retried with events that it has not refused.
   * Each call chooses a different tenant: a sink may refuse all events of one tenant and accept those of others.
   */
  first(room: Room): Promise<readonly DueEventRow[][]>;
  /** Like `first`, for one tenant. */
  firstOfTenant(tenantId: string, room: Room): Promise<readonly DueEventRow[][]>;
}

/** The maximum number of tenants that a statement skips. */
const triedMax = 100;
/**
 * The pause after a search found no event of other tenants, at least 20 times its duration: it reads the whole backlog
 * of the tenants that it skips.
 */
const othersPauseMsMin = 20;

/** Claims due deliveries of one sink under locks that expire. */
export function createDeliveryClaims(
  sink: string,
  { pool, settings }: Pick<JobTools<Context>, 'pool' | 'settings'>,
): DeliveryClaims {
  const all = createQueue();
  /** For searches that skip tenants, with its own place: another tenant's event must not hide the backlog before it. */
  const others = createQueue();
  const lockSeconds = settings.CP_OUTBOX_LOCK_TIMEOUT_SECONDS;
  /** The tenants whose deliveries were used to retry the sink during its pause. */
  const tried = new Set<string>();
  /** The tenants that had their turn since a search last found no events of others. */
  const served = new Set<string>();
  let nextTurnAtMs = 0;
  let nobodyElseUntilMs = 0;
  return { batch: (room) => batch(room, all), batchByTurns, first, firstOfTenant };

  /**
   * Retries are searched for only in full scans, or if the last search left some: their index keeps delivered rows for
   * as long as an old transaction in the cluster is open.
   */
  async function batch(
    { againMax, newMax, ...which }: Room,
    queue: Queue,
  ): Promise<readonly DueEventRow[][]> {
    if (againMax + newMax <= 0) return [];
    tried.clear();
    const { rows } = await queue.scan(async (afterPlace, isFull) => {
      const room = { ...which, newMax, againMax: isFull || queue.isMoreAgain ? againMax : 0 };
      const rows = await pool.rows(takeDue(sink, room, afterPlace, lockSeconds));
      if (room.againMax > 0) queue.isMoreAgain = rows.some(({ is_again }) => is_again);
      const places = rows.flatMap(({ is_again, place }) => (is_again ? [] : [place]));
      return { rows, newest: places.length > 0 ? Math.max(...places) : undefined };
    });
    return byDelivery(rows);
  }

  /** Events that need no network are delivered at once, so a tenant may have a backlog without being busy. */
  async function batchByTurns(room: Room, busyTenants: readonly string[]): Promise<readonly DueEventRow[][]> {
    const without = (tenants: Iterable<string>): Room => ({
      ...room,
      exceptTenants: [...new Set([...(room.exceptTenants ?? []), ...tenants])],
    });
    if (room.againMax + room.newMax <= 0) return [];
    const startedAtMs = performance.now();
    if (served.size > 0 && startedAtMs >= nextTurnAtMs) {
      const found = await batch(without([...busyTenants, ...served]), others);
      if (found.length > 0) return noteServed(found);
      served.clear();
      nextTurnAtMs = pauseAfter(startedAtMs);
    }
    if (busyTenants.length === 0) return noteServed(await batch(room, all));
    const nowMs = performance.now();
    if (nowMs < nobodyElseUntilMs) return [];
    const found = await batch(without(busyTenants), others);
    if (found.length === 0) nobodyElseUntilMs = pauseAfter(nowMs);
    return noteServed(found);
  }

  function noteServed(deliveries: readonly DueEventRow[][]): readonly DueEventRow[][] {
    for (const [row] of deliveries)
      if (row !== undefined && served.size < triedMax) served.add(row.tenant_id);
    return deliveries;
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

interface Queue {
  readonly scan: ReturnType<typeof createScan<number>>;
  isMoreAgain: boolean;
}

function createQueue(): Queue {
  return { scan: createScan(0), isMoreAgain: false };
}

function pauseAfter(startedAtMs: number): number {
  const nowMs = performance.now();
  return nowMs + Math.max(othersPauseMsMin, (nowMs - startedAtMs) * 20);
}

function byDelivery(rows: readonly DueEventRow[]): DueEventRow[][] {
  return [...Map.groupBy(rows, ({ place, lead }) => `${place} ${lead}`).values()];
}

/** Events of one tenant that were claimed together, and are settled together. */
export interface Delivery {
  readonly rows: readonly DueEventRow[];
  /** Whether the delivery was attempted before. */
  readonly isAgain: boolean;
  /** Whether an earlier worker claimed the delivery and ended without a result. */
  readonly isUnsettled: boolean;
  /**
   * The time by which events must be started: the others are released, because another worker may claim them when the
   * lock ends.
   */
  readonly beginUntilMs: number;
}

export function createDelivery(rows: readonly DueEventRow[], lockSeconds: number): Delivery {
  const [{ is_again: isAgain, unsettled }] = rows as [DueEventRow];
  const beginUntilMs = performance.now() + lockSeconds * 500;
  return { rows, isAgain, isUnsettled: unsettled > 0, beginUntilMs };
}

export function countEvents(deliveries: readonly Delivery[]): number {
  return deliveries.reduce((events, { rows }) => events + rows.length, 0);
}
